"""Every recipe at a small size: it trains, with and without held-out examples, and its run can be probed."""

import json
from pathlib import Path

import pytest
from cli_helpers import ForkServer
from small_recipes import keep_nothing_back, shrink

from gradlab.recipes import book

# One of each kind of data and task; the others take minutes together.
FAST = {
    "cartpole-ppo", "copy-seq2seq", "csv", "digits-autoencoder", "digits-vae", "docstrings-bag", "grid-qlearning",
    "karate-gcn", "moons-mixture", "ring-gan", "seasonal-forecast", "text-bert", "text-classifier", "text-gpt",
}  # fmt: skip
every_recipe = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in sorted(book)]
)


def train(quick: ForkServer, folder: Path, name: str, *changes: str) -> None:
    ended = quick("train", name, *shrink(name, folder / "data"), *changes, "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    assert (folder / "run" / "report.html").exists()


@every_recipe
def test_run_of_every_recipe_can_be_probed(quick: ForkServer, tmp_path: Path, name: str) -> None:
    train(quick, tmp_path, name)
    ended = quick("probe", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["layers"] or ended.json["notes"]
    assert "no examples" not in ended.err


@every_recipe
def test_every_recipe_finishes_without_held_out_examples(quick: ForkServer, tmp_path: Path, name: str) -> None:
    changes = keep_nothing_back(name)
    if not changes:
        pytest.skip("its data always hold out examples")
    train(quick, tmp_path, name, *changes)
    sizes = json.loads((tmp_path / "run" / "data.json").read_text())["sizes"]
    assert sizes["validation"] == 0
    assert quick("probe", "run", "--json", cwd=tmp_path).code == 0
    assert quick("resume", "run", "--json", cwd=tmp_path).code == 0


def test_translation_without_held_out_pairs_finishes(quick: ForkServer, tmp_path: Path) -> None:
    train(quick, tmp_path, "translate", *keep_nothing_back("translate"))
    assert "signatures" not in json.loads((tmp_path / "run" / "result.json").read_text())
