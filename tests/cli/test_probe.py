"""`gradlab probe`: tables, JSON, a page, and one line for what cannot be looked at."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents

GPT = ["model.dim=8", "model.layers=1", "model.heads=2", "data.context=16", "train.batch_size=4", "train.steps=2"]


@pytest.fixture(scope="module")
def folder(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model of characters."""
    made = tmp_path_factory.mktemp("probed")
    (made / "text.txt").write_text("the cat sat on the mat and the dog sat on the log.\n" * 40)
    options = [*GPT, "data.tokenizer=char", "train.schedule=constant", "--data", "text.txt", "--out", "gpt", "--json"]
    ended = quick("train", "text-gpt", *options, cwd=made)
    assert ended.code == 0, ended.err
    return made


def test_a_run_is_looked_into_on_its_validation_split(quick: ForkServer, digits: Path, tmp_path: Path) -> None:
    before = contents(digits)
    ended = quick("probe", digits, "--html", "page.html", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "32 examples of the validation split" in ended.out
    assert "What gradient reaches each layer" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "Layer by layer" in (tmp_path / "page.html").read_text()
    assert contents(digits) == before


def test_the_page_is_in_the_run_folder_unless_told(quick: ForkServer, iris: Path, tmp_path: Path) -> None:
    shutil.copytree(iris, tmp_path / "iris")
    ended = quick("probe", "iris", "5.1,3.5,1.4,0.2", "--json", cwd=tmp_path)
    assert ended.json["page"] == "iris/probe.html"
    assert (tmp_path / "iris" / "probe.html").exists()
    assert [layer["kind"] for layer in ended.json["layers"]] == ["Linear"]
    assert ended.json["on"] == "1 given input"


def test_a_text_token_by_token(quick: ForkServer, folder: Path) -> None:
    found = quick("probe", "gpt", "the cat", "--json", cwd=folder).json
    assert [token["text"] for token in found["tokens"]] == list("the cat")
    assert found["tokens"][0]["bits"] is None
    assert all(token["bits"] > 0 for token in found["tokens"][1:])
    assert [len(attention["heads"]) for attention in found["attention"]] == [2]
    shown = quick("probe", "gpt", "the cat", cwd=folder).out
    assert "Where each head looks" in shown
    assert "Surprise" in shown
    assert "␣" in shown


def test_a_text_from_a_file_that_is_longer_than_the_context(quick: ForkServer, folder: Path) -> None:
    ended = quick("probe", "gpt", "--file", "text.txt", cwd=folder)
    assert ended.code == 0, ended.err
    assert "the last 16" in ended.out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere"], "nowhere is not a folder"),
        (["gpt", "naïve"], "does not have the characters 'ï'"),
        (["gpt", ""], "empty"),
        (["gpt", "the", "--file", "text.txt"], "give one of them"),
        (["gpt", "the", "--split", "test"], "give one of them"),
        (["gpt", "--file", "missing.txt"], "missing.txt cannot be read"),
        (["gpt", "--file", "bytes.bin"], "no UTF-8"),
        (["gpt", "--examples", "0"], "At least one example"),
        (["gpt", "the", "--html", "missing/page.html"], "missing/page.html cannot be written"),
        (["gpt", "--split", "tset"], "tset"),
    ],
)
def test_what_cannot_be_looked_at_is_told_in_a_line(
    quick: ForkServer, folder: Path, arguments: list[str], word: str
) -> None:
    (folder / "bytes.bin").write_bytes(b"\xff\xfe")
    check_refused(quick("probe", *arguments, cwd=folder), word)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("1,2,3", "has shape (3,)"),
        ("hello", "neither a file nor numbers"),
        ("array.npy", "has shape (2, 7)"),
        ("nan,1,2,3", "The data hold nan"),
    ],
)
def test_inputs_of_another_shape_are_told(quick: ForkServer, iris: Path, tmp_path: Path, given: str, word: str) -> None:
    np.save(tmp_path / "array.npy", np.zeros((2, 7)))
    check_refused(quick("probe", iris, given, cwd=tmp_path), word)
    assert not (iris / "probe.html").exists()
