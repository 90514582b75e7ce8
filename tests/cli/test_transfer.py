"""`gradlab train --from RUN [--freeze trunk]`."""

import shutil
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_same, contents, flip_byte, kill_after, weights

FEW = ["digits-mlp", "data.classes=5,6,7,8,9", "data.limit=40"]


@pytest.fixture(scope="module")
def source(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the digits 0 to 4, named trunk; the tests copy it."""
    folder = tmp_path_factory.mktemp("source")
    arguments = ["train", "digits-mlp", "data.classes=0,1,2,3,4", "train.epochs=2", "--out", "trunk", "--json"]
    assert quick(*arguments, cwd=folder).code == 0
    return folder


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / "work", ignore=shutil.ignore_patterns("report.html")))


def test_plan_and_report_say_where_the_weights_are_from_and_what_is_frozen(quick: ForkServer, folder: Path) -> None:
    ended = quick("train", *FEW, "--from", "trunk", "--freeze", "trunk", "train.thaw=0.5", "--out", "run", cwd=folder)
    assert ended.code == 0, ended.err
    words = (
        f"the weights of {folder / 'trunk'}, with a new last layer; all but the last layer frozen until step 30, then "
        "at 0.1 of the rate"
    )
    assert f"start        {words}" in ended.out
    assert f"Start: {words}." in (folder / "run" / "report.html").read_text()


def test_the_recipe_of_a_run_gives_the_same_bits_while_the_weights_are_the_same(
    quick: ForkServer, folder: Path
) -> None:
    arguments = ["train", *FEW, "--from", "trunk", "--freeze", "trunk", "train.thaw=0.5", "--out", "run", "--json"]
    assert quick(*arguments, cwd=folder).code == 0
    assert quick("train", "run/recipe.toml", "--out", "again", "--json", cwd=folder).code == 0
    check_same(folder / "again", folder / "run")
    arguments = ["train", "digits-mlp", "data.classes=0,1,2,3,4", "train.epochs=1", "--out", "other", "--json"]
    assert quick(*arguments, cwd=folder).code == 0
    shutil.rmtree(folder / "trunk")
    (folder / "other").rename(folder / "trunk")
    before = contents(folder)
    check_refused(quick("train", "run/recipe.toml", "--out", "third", cwd=folder), "from_sha256", "has changed")
    assert contents(folder) == before


def test_a_killed_run_goes_on_to_the_bit_without_the_run_it_started_from(quick: ForkServer, folder: Path) -> None:
    arguments = [
        "train", *FEW, "model=mlp", "model.norm=batch", "train.epochs=120", "train.log_every=5",
        "train.evaluate_every=7", "train.checkpoint_every=9",
    ]  # fmt: skip
    trunk = ["train", "digits-mlp", "data.classes=0,1,2,3,4", "model=mlp", "model.norm=batch", "train.epochs=2"]
    assert quick(*trunk, "--out", "normed", "--json", cwd=folder).code == 0
    arguments += ["--from", "normed", "--freeze", "trunk", "train.thaw=0.4"]
    assert quick(*arguments, "--out", "whole", "--json", cwd=folder).code == 0
    for kind, lines in {"frozen": 20, "thawed": 90}.items():  # of about 140 log lines
        kill_after(folder / kind, lines, *arguments, "--out", kind, cwd=folder)
        assert not (folder / kind / "result.json").exists()
    shutil.rmtree(folder / "normed")
    for kind in ("frozen", "thawed"):
        assert quick("resume", kind, "--json", cwd=folder).code == 0
        check_same(folder / kind, folder / "whole")


def test_a_run_without_a_checkpoint_starts_again_from_the_same_weights_alone(quick: ForkServer, folder: Path) -> None:
    arguments = ["train", *FEW, "--from", "trunk", "--out", "run", "--json"]
    assert quick(*arguments, cwd=folder).code == 0
    first = weights(folder / "run")
    for name in ("checkpoints", "result.json", "report.html", "metrics.jsonl"):
        path = folder / "run" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "trunk").rename(folder / "elsewhere")
    check_refused(quick("resume", "run", cwd=folder), "has no checkpoint", "trunk is not a folder")
    (folder / "elsewhere").rename(folder / "trunk")
    assert quick("resume", "run", "--json", cwd=folder).code == 0
    assert weights(folder / "run") == first


def test_values_are_varied_over_seeds(quick: ForkServer, folder: Path) -> None:
    arguments = [
        "train",
        *FEW,
        "train.epochs=2",
        "--vary",
        "train.from_run=none,trunk",
        "--seeds",
        "2",
        "--out",
        "study",
    ]
    ended = quick(*arguments, cwd=folder)
    assert ended.code == 0, ended.err
    assert " ± " in next(line for line in ended.out.splitlines() if line.split()[:1] == ["trunk"])
    assert (folder / "study" / "from_run=trunk,seed=1" / "result.json").is_file()
    page = (folder / "study" / "report.html").read_text()
    assert "each with 2 seeds" in page
    found = quick(*arguments, "--json", cwd=folder).json
    figures = [m["test"]["accuracy"] for m in found["members"] if m["changes"]["train.from_run"] == "trunk"]
    choice = next(c for c in found["choices"] if c["changes"] == {"train.from_run": "trunk"})
    assert choice["test"]["accuracy"]["mean"] == pytest.approx(sum(figures) / 2)


def test_what_is_no_run_to_start_from_is_refused(quick: ForkServer, folder: Path, diabetes: Path) -> None:
    (folder / "empty").mkdir()
    shutil.copytree(folder / "trunk", folder / "unfinished")
    (folder / "unfinished" / "result.json").unlink()
    shutil.copytree(folder / "trunk", folder / "bare")
    shutil.rmtree(folder / "bare" / "checkpoints")
    text = ["train", "pydoc-gpt", "train.steps=1", "model.dim=8", "model.layers=1", "data.context=16"]
    assert quick(*text, "--out", "text", "--json", cwd=folder).code == 0
    before = contents(folder)
    refused = {
        "missing": "missing is not a folder",
        "empty": "is not a run",
        "unfinished": "is not finished. Go on with: gradlab resume",
        "bare": "has no model to use",
        "text": "is no classifier: it learned task=language",
        str(diabetes): "is no classifier: it learned task=regress",
    }
    for run, words in refused.items():
        check_refused(quick("train", *FEW, "--from", run, "--out", "run", cwd=folder), words)
    refuse = ["train", *FEW, "--from", "trunk", "--out", "run"]
    check_refused(quick(*refuse, "model.hidden=8", cwd=folder), "Of another shape: 1.weight (128×64 there, 8×64 here)")
    check_refused(quick(*refuse, "--freeze", "tronk", cwd=folder), "train.freeze=tronk")
    check_refused(quick(*refuse, "train.thaw=0.5", cwd=folder), "needs something frozen")
    check_refused(quick("train", "pydoc-gpt", "--from", "trunk", cwd=folder), "of no use for task=language")
    flip_byte(next((folder / "trunk").glob("checkpoints/step-*/model.safetensors")))
    check_refused(quick(*refuse, cwd=folder), "trunk has no model to use", "SHA-256")
    flip_byte(next((folder / "trunk").glob("checkpoints/step-*/model.safetensors")))
    assert contents(folder) == before
