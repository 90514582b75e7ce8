"""Recurrent language models that carry their state: judged alike everywhere, and refused where there is none."""

import json
from pathlib import Path

import pytest
from cli_helpers import ForkServer, accept_changes, check_refused, lines

SMALL = ["model.dim=8", "model.layers=1", "data.context=16", "train.batch_size=8", "train.schedule=constant"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("carry")
    (made / "text.txt").write_text("".join(f"the cat sat on the mat {i % 9} times.\n" for i in range(200)))
    return made


def test_the_log_the_result_and_evaluate_agree(quick: ForkServer, folder: Path) -> None:
    command = ["train", "text-lstm", "--data", "text.txt", *SMALL, "train.epochs=2", "train.steps=none"]
    ended = quick(*command, "train.keep=last", "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    result = json.loads((folder / "run" / "result.json").read_text())
    last = [line for line in lines(folder / "run") if line["split"] == "validation"][-1]
    for split in ("validation", "test"):
        figures = quick("evaluate", "run", "--split", split, "--json", cwd=folder).json
        for name in ("loss", "perplexity", "bits_per_byte"):
            assert figures[name] == result[split][name]
            if split == "validation":
                assert figures[name] == last[name]
    # Judged window by window, it would be another figure: the same run without its knob shows it.
    recipe = folder / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("carry = true", "carry = false"))
    accept_changes(folder / "run")
    apart = quick("evaluate", "run", "--json", cwd=folder).json
    assert apart["loss"] != result["test"]["loss"]


@pytest.mark.parametrize(
    ("recipe", "options", "words"),
    [
        ("text-gpt", ["model.heads=2"], ["models that have a state to carry", "TransformerLanguageModel has none"]),
        ("text-lstm", ["train.accumulate=2"], ["train.accumulate=2 does not go with train.carry"]),
        ("text-lstm", ["train.batch_size=1000"], ["train.batch_size=1000 strips"]),
    ],
)
def test_what_cannot_carry_is_refused_before_there_is_a_folder(
    quick: ForkServer, folder: Path, recipe: str, options: list[str], words: list[str]
) -> None:
    ended = quick(
        "train", recipe, "--data", "text.txt", *SMALL, "train.carry=true", *options, "--out", "none", cwd=folder
    )
    check_refused(ended, *words)
    assert not (folder / "none").exists()


def test_only_a_text_is_carried_along(quick: ForkServer, folder: Path) -> None:
    ended = quick("train", "digits-mlp", "train.carry=true", "--out", "none", cwd=folder)
    check_refused(ended, "train.carry=true is for a text", "train.carry=false")
    assert not (folder / "none").exists()
