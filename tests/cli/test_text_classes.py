"""Texts with classes, and hidden words: trained, judged, resumed, and asked, as a user would."""

import csv
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import ForkServer, check_refused, check_same, gradlab, signal_after

MODEL = ["model.dim=8", "model.heads=2", "model.layers=1", "train.schedule=constant"]
SMALL = [*MODEL, "train.epochs=6", "train.lr=1e-2", "data.context=12"]
COLUMNS = ["data.text=body", "data.target=kind"]
WORDS = {"praise": ["lovely", "fine", "good"], "blame": ["awful", "bad", "poor"]}
FILLING = ["a", "very", "thing", "it", "was", "indeed", "and", "then", "some"]


def sentences(count: int) -> list[tuple[str, str]]:
    """Texts of different lengths that one of three words gives away."""
    made = []
    for i in range(count):
        kind = list(WORDS)[i % 2]
        words = [FILLING[(i * 7 + k) % len(FILLING)] for k in range(1 + i * 5 % 14)]
        words.insert(i % len(words), WORDS[kind][i // 2 % 3])
        made.append((" ".join(words), kind))
    return made


def write_csv(path: Path, rows: list[tuple[str, str]], names: tuple[str, str] = ("body", "kind")) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def result(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result.json").read_text())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("texts")
    write_csv(made / "reviews.csv", sentences(120))
    for i, (text, kind) in enumerate(sentences(60)):
        (made / "sorted" / kind).mkdir(parents=True, exist_ok=True)
        (made / "sorted" / kind / f"{i}.txt").write_text(text + "\n")
    (made / "story.txt").write_text("the cat sat on the mat and the dog sat on the log.\n" * 40)
    return made


@pytest.fixture(scope="module")
def run(quick: ForkServer, folder: Path) -> Path:
    data = ["--data", "reviews.csv", *COLUMNS]
    ended = quick("train", "text-classifier", *data, *SMALL, "--out", "reviews", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    baseline = result(folder / "reviews")["baseline"]["test"]
    assert ended.json["test"]["accuracy"] > 0.9 > 0.6 > baseline["accuracy"]
    return folder / "reviews"


def test_a_column_of_texts_is_learned_and_judged_and_shown(quick: ForkServer, run: Path, folder: Path) -> None:
    shown = quick("evaluate", "reviews", "--json", cwd=folder).json
    assert shown["accuracy"] == result(run)["test"]["accuracy"]
    report = (run / "report.html").read_text()
    assert "Confusion matrix" in report
    assert (run / "tokenizer.json").exists()


def test_new_texts_are_asked_about_in_every_form(quick: ForkServer, run: Path, folder: Path) -> None:
    write_csv(folder / "new.csv", [("it was lovely", "1"), ("a very awful thing", "2")], ("body", "number"))
    (folder / "one.txt").write_text("it was awful\n")
    asked = {
        "new.csv": ["praise", "blame"],
        "one.txt": ["blame"],
        "it was a lovely thing": ["praise"],
        "sorted/blame": ["blame"] * 30,
    }
    for inputs, labels in asked.items():
        ended = quick("predict", "reviews", inputs, "--json", cwd=folder)
        assert ended.code == 0, ended.err
        assert [p["label"] for p in ended.json["predictions"]] == labels
    files = [p["file"] for p in quick("predict", "reviews", "sorted/blame", "--json", cwd=folder).json["predictions"]]
    assert files == sorted(files)


def test_a_text_is_the_same_alone_and_among_longer_ones(quick: ForkServer, run: Path, folder: Path) -> None:
    write_csv(folder / "lengths.csv", [("it was lovely", "1"), ("and then some thing " * 9, "2")])
    together = quick("predict", "reviews", "lengths.csv", "--json", cwd=folder).json["predictions"][0]
    alone = quick("predict", "reviews", "it was lovely", "--json", cwd=folder).json["predictions"][0]
    assert together["probability"] == pytest.approx(alone["probability"], abs=1e-5)


def test_folders_of_texts_and_a_bag_of_words_and_what_was_cut(quick: ForkServer, folder: Path) -> None:
    options = ["model=text-bag", "train.schedule=constant", "train.epochs=1", "data.context=4", "--plain"]
    ended = quick("train", "text-classifier", "--data", "sorted", *options, "--out", "bag", cwd=folder)
    assert ended.code == 0, ended.err
    longer = sum(len(text.split()) > 4 for text, _ in sentences(60))
    assert f"Cut {longer} texts that are longer than 4 tokens" in ended.out
    assert quick("predict", "bag", "sorted", "--json", cwd=folder).code == 0


def test_a_recurrent_network_learns_them_too(quick: ForkServer, folder: Path) -> None:
    model = ["model=rnn-classifier", "model.dim=8", "model.layers=1", "model.bidirectional=true", "model.pooling=mean"]
    plan = ["train.schedule=constant", "train.epochs=8", "train.lr=3e-2", "data.context=12"]
    data = ["--data", "reviews.csv", *COLUMNS, "--out", "recurrent", "--json"]
    ended = quick("train", "text-classifier", *model, *plan, *data, cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["accuracy"] > 0.9
    answer = quick("predict", "recurrent", "it was a lovely thing", "--json", cwd=folder).json
    assert [p["label"] for p in answer["predictions"]] == ["praise"]


@pytest.mark.parametrize(
    "study", [["--folds", "2"], ["--seeds", "2"], ["--curve"], ["--vary", "train.lr=1e-2,1e-3"], ["--check"]]
)
def test_studies_take_texts(quick: ForkServer, folder: Path, study: list[str]) -> None:
    data = ["--data", "reviews.csv", *COLUMNS]
    options = [*SMALL, "train.epochs=1", "--out", study[0].strip("-")]
    ended = quick("train", "text-classifier", *data, *options, *study, cwd=folder)
    assert ended.code == 0, ended.err


def test_hidden_words_are_learned_beside_their_frequencies(quick: ForkServer, folder: Path) -> None:
    options = [*MODEL, "train.steps=60", "train.lr=1e-2", "data.context=16", "train.batch_size=8"]
    ended = quick("train", "text-bert", "--data", "story.txt", *options, "--out", "bert", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    baseline = result(folder / "bert")["baseline"]
    assert baseline["name"] == "counted unigrams"
    assert ended.json["test"]["masked_perplexity"] < baseline["test"]["masked_perplexity"]
    assert "What it fills in" in (folder / "bert" / "report.html").read_text()
    shown = quick("evaluate", "bert", "--json", cwd=folder).json
    assert shown["masked_perplexity"] == ended.json["test"]["masked_perplexity"]
    check_refused(quick("predict", "bert", "the cat", cwd=folder), "fills in hidden tokens")
    check_refused(
        quick("generate", "bert", "--prompt", "the cat", cwd=folder), "neither writes nor draws: its task is masked"
    )


def test_bad_texts_are_told_in_a_line(quick: ForkServer, folder: Path, tmp_path: Path) -> None:
    rows = sentences(20)
    write_csv(tmp_path / "good.csv", rows)
    write_csv(tmp_path / "lone.csv", [*rows, ("quite odd", "other")])
    write_csv(tmp_path / "one.csv", [(text, "same") for text, _ in rows])
    write_csv(tmp_path / "empty.csv", [("", kind) for _, kind in rows])
    (tmp_path / "latin.csv").write_bytes(b"body,kind\ngr\xfc\xdfe,a\n")
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "a.txt").write_text("a text")
    for kind in ("a", "b"):
        (tmp_path / "coded" / kind).mkdir(parents=True)
        (tmp_path / "hollow" / kind).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "coded" / kind / f"{i}.txt").write_bytes(b"gr\xfc\xdfe" if kind == "b" and i == 1 else b"fine")
            (tmp_path / "hollow" / kind / f"{i}.txt").write_text("" if kind == "b" and i == 2 else "fine")

    def refused(path: str, *told: str, columns: list[str] = COLUMNS) -> None:
        ended = quick("train", "text-classifier", "--data", path, *columns, "--out", "x", cwd=tmp_path)
        check_refused(ended, *told)
        assert not (tmp_path / "x").exists()

    refused("good.csv", "no column", "'boddy'", "Valid: body, kind", columns=["data.text=boddy", "data.target=kind"])
    refused("good.csv", "data.text must be given", "body, kind", columns=[])
    refused("good.csv", "data.target must be given", "body, kind", columns=["data.text=body"])
    refused("lone.csv", "'other' has a single example")
    refused("one.csv", "only one class")
    refused("empty.csv", "no row with a text in 'body'")
    refused("latin.csv", "latin.csv, line 2", "0xfc is not utf-8")
    refused("absent.csv", "neither a file nor a folder")
    refused("flat", "a folder", columns=["data.text=body"])
    refused("flat", "needs a folder for each class", columns=[])
    refused("coded", "coded/b/1.txt is not UTF-8: byte 2", columns=[])
    refused("hollow", "hollow/b/2.txt is empty", columns=[])


def test_rows_without_a_text_or_a_class_are_left_out_and_told(quick: ForkServer, tmp_path: Path) -> None:
    write_csv(tmp_path / "gaps.csv", [*sentences(30), ("", "praise"), ("no class", ""), (" ", "blame")])
    options = [*COLUMNS, "model=text-bag", "train.schedule=constant", "train.epochs=1", "--plain", "--out", "x"]
    ended = quick("train", "text-classifier", "--data", "gaps.csv", *options, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "Left out 2 rows in which 'body' is empty, such as line 32" in ended.out
    assert "Left out 1 row in which 'kind' is missing, such as line 33" in ended.out


def test_bad_new_texts_are_told(quick: ForkServer, run: Path, folder: Path) -> None:
    write_csv(folder / "other.csv", sentences(2), ("title", "kind"))
    write_csv(folder / "hole.csv", [("fine", "1"), ("", "2")])
    (folder / "void.txt").write_text(" \n")
    for inputs, told in {
        "other.csv": "There is no column in other.csv, 'body'",
        "hole.csv": "hole.csv, line 3: the text is empty",
        "void.txt": "void.txt: the text is empty",
        "absent.csv": "neither a file nor a folder",
        "  ": "is empty",
    }.items():
        check_refused(quick("predict", "reviews", inputs, cwd=folder), told)


def test_models_that_do_not_take_such_texts_are_told(quick: ForkServer, folder: Path) -> None:
    data = ["--data", "reviews.csv", *COLUMNS, "--out", "x"]
    check_refused(quick("train", "text-classifier", "model=gpt", *data, cwd=folder), "model=gpt gives outputs of shape")
    story = ["--data", "story.txt", "data.context=16", "--out", "x"]
    check_refused(quick("train", "text-bert", "model=text-bag", *story, cwd=folder), "task=masked needs (16, ")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["docstrings-bert", "pydoc-bert"])
def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path: Path, recipe: str) -> None:
    options = [*MODEL, "train.steps=80", "train.log_every=1", "train.evaluate_every=50"]
    whole = gradlab("train", recipe, *options, "--out", "whole", cwd=tmp_path)
    assert whole.code == 0, whole.err
    stopped = signal_after(signal.SIGINT, tmp_path / "run", 35, "train", recipe, *options, "--out", "run", cwd=tmp_path)
    check_refused(stopped, "gradlab resume run", code=130)
    resumed = gradlab("resume", "run", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    check_same(tmp_path / "whole", tmp_path / "run")
