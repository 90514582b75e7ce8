"""`gradlab prune`: smaller runs that all commands take, killed ones that resume to the bit, and what is refused."""

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from cli_helpers import (
    ForkServer,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    contents,
    flip_byte,
    gradlab,
    kill_after,
    shared_folder,
    signal_after,
)

# Log lines, evaluations and checkpoints fall on different steps, so that a kill in the middle is in the middle.
DENSE = [
    "train", "digits-mlp", "model.hidden=32", "train.epochs=6", "train.log_every=5", "train.evaluate_every=9",
    "train.checkpoint_every=14", "train.ema=0.9", "--out", "dense", "--json",
]  # fmt: skip


@pytest.fixture(scope="session")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to prune."""
    with shared_folder(tmp_path_factory, "prune") as folder:
        if not (folder / "dense" / "report.html").exists():
            assert gradlab(*DENSE, cwd=folder).code == 0
        return folder / "dense"


@pytest.fixture(scope="session")
def pruned(dense: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fifth of its weights, trained on."""
    with shared_folder(tmp_path_factory, "prune") as folder:
        if not (folder / "pruned.json").exists():
            asked = ["prune", dense, "--keep", "0.2", "--out", "pruned", "--dense", "plain.safetensors", "--json"]
            ended = gradlab(*asked, cwd=folder)
            assert ended.code == 0, ended.err
            (folder / "pruned.json").write_text(ended.out)
        return folder / "pruned"


def test_a_pruned_run_is_smaller_and_says_so(pruned: Path) -> None:
    printed = json.loads(pruned.with_name("pruned.json").read_text())
    assert printed["pruning"]["kept"] == round(0.2 * (64 * 32 + 32 * 10))
    assert printed["pruning"]["start"] == "trained"
    last = checkpoints(pruned)[-1]
    assert printed["bytes"]["pruned"] == (last / "best.safetensors").stat().st_size
    assert printed["bytes"]["pruned"] < printed["bytes"]["dense"] / 2.5
    assert printed["test"]["accuracy"] > 0.8
    check_sound(pruned)
    page = (pruned / "report.html").read_text()
    assert "<h2>Pruning</h2>" in page
    assert f"take {printed['bytes']['pruned']:,} bytes" in page
    assert "Repeat the run exactly" not in page  # which would draw other first weights


def test_the_dense_file_has_the_plain_names_and_exact_zeros(pruned: Path) -> None:
    plain = safetensors.numpy.load_file(pruned.with_name("plain.safetensors"))
    weights = [value for value in plain.values() if value.ndim == 2]
    assert set(plain) == {"1.weight", "1.bias", "3.weight", "3.bias"}
    assert sum(np.count_nonzero(value) for value in weights) == round(0.2 * (64 * 32 + 32 * 10))


def test_evaluate_predict_probe_and_resume_take_it(quick: ForkServer, pruned: Path, tmp_path: Path) -> None:
    figures = json.loads(pruned.with_name("pruned.json").read_text())["test"]
    assert quick("evaluate", pruned, "--json", cwd=tmp_path).json["loss"] == pytest.approx(figures["loss"])
    np.save(tmp_path / "x.npy", np.zeros((2, 1, 8, 8)))
    assert len(quick("predict", pruned, "x.npy", "--json", cwd=tmp_path).json["predictions"]) == 2
    assert quick("probe", pruned, "--html", "probe.html", "--json", cwd=tmp_path).json["layers"]
    compared = quick("compare", pruned, pruned.with_name("dense"), "--json", cwd=tmp_path).json["recipe"]
    assert compared["pruning.keep"] == [0.2, None]
    before = contents(pruned)
    assert quick("resume", pruned, "--json", cwd=tmp_path).json["test"] == figures
    assert contents(pruned) == before


@pytest.mark.parametrize("way", ["--rewind", pytest.param("--reinit", marks=pytest.mark.slow)])
def test_a_killed_run_resumes_to_the_bit(dense: Path, tmp_path: Path, way: str) -> None:
    asked = ["prune", dense, "--keep", "0.1", way]
    assert gradlab(*asked, "--out", "whole", cwd=tmp_path).code == 0
    kill_after(tmp_path / "killed", 30, *asked, "--out", "killed", cwd=tmp_path)
    assert not (tmp_path / "killed" / "result.json").exists()
    assert checkpoints(tmp_path / "killed")
    assert gradlab("resume", "killed", cwd=tmp_path).code == 0
    check_same(tmp_path / "killed", tmp_path / "whole")


def test_one_killed_before_its_first_checkpoint_begins_with_the_same_weights(dense: Path, tmp_path: Path) -> None:
    asked = ["prune", dense, "--keep", "0.1"]
    assert gradlab(*asked, "--out", "whole", cwd=tmp_path).code == 0
    kill_after(tmp_path / "killed", 1, *asked, "--out", "killed", cwd=tmp_path)
    for path in checkpoints(tmp_path / "killed"):
        flip_byte(path / "model.safetensors")  # if it came so far, nothing of it may be used
    again = gradlab(*asked, "--out", "killed", "--json", cwd=tmp_path)  # the same command instead of resume
    assert again.code == 0, again.err
    check_same(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.slow
def test_rounds_are_told_and_a_killed_study_goes_on(dense: Path, tmp_path: Path) -> None:
    asked = ["prune", dense, "--keep", "0.1", "--rounds", "2", "--rewind"]
    whole = gradlab(*asked, "--out", "whole", cwd=tmp_path)
    assert whole.code == 0, whole.err
    for word in ("1 of 2 | 31.6% kept", "round-2", "saved weights", "1.weight", "the weights before the first step"):
        assert word in whole.out
    kill_after(tmp_path / "study" / "round-2", 30, *asked, "--out", "study", cwd=tmp_path)
    ended = gradlab(*asked, "--out", "study", "--json", cwd=tmp_path)
    assert ended.json["rounds"][1]["kept"] == pytest.approx(0.1, abs=1e-3)
    for name in ("round-1", "round-2"):
        check_same(tmp_path / "study" / name, tmp_path / "whole" / name)


def test_an_interrupted_study_says_how_to_go_on(dense: Path, tmp_path: Path) -> None:
    asked = ["prune", dense, "--keep", "0.1", "--rounds", "2", "--per-layer", "--out", "study"]
    ended = signal_after(signal.SIGINT, tmp_path / "study" / "round-1", 20, *asked, cwd=tmp_path)
    check_refused(ended, f"Go on with: gradlab prune {dense} --keep 0.1 --rounds 2 --per-layer --out study", code=130)


def test_tickets_are_one_table(quick: ForkServer, tmp_path: Path) -> None:
    small = ["moons-mlp", "data.examples=120", "model.hidden=16", "train.steps=12", "train.evaluate_every=4"]
    assert quick("train", *small, "--out", "dense", "--json", cwd=tmp_path).code == 0
    asked = ["prune", "dense", "--keep", "0.3", "--ticket", "--rounds", "2", "--seeds", "2", "--per-layer"]
    ended = quick(*asked, "--out", "study", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for word in ("10 of 10 | seed 1, reinit, 30% kept", "dense", "ticket", "reinitialised", "54.8%", "gain", "verdict"):
        assert word in ended.out
    printed = quick(*asked, "--out", "study", "--json", cwd=tmp_path).json
    assert [row["way"] for row in printed["rows"]] == ["dense", "ticket", "reinit", "ticket", "reinit"]
    assert f"{printed['rows'][0]['mean']:.4f} ± {printed['rows'][0]['std']:.4f}" in ended.out
    assert "<h2>" in (tmp_path / "study" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--keep", "0"], "--keep 0 is no share of the weights"),
        (["--keep", "1.5"], "--keep 1.5 is no share of the weights"),
        (["--keep", "-0.2"], "--keep"),
        (["--keep=-0.2"], "--keep -0.2 is no share of the weights"),
        (["--keep", "nan"], "--keep nan is no share of the weights"),
        (["--keep", "inf"], "--keep inf is no share of the weights"),
        (["--keep", "much"], "much"),
        ([], "keep"),
        (["--keep", "0.2", "--rounds", "0"], "--rounds 0 is no number of rounds"),
        (["--keep", "0.2", "--rounds=-1"], "--rounds -1 is no number of rounds"),
        (["--keep", "0.2", "--rewind", "--reinit"], "--rewind and --reinit are two ways to begin"),
        (["--keep", "0.2", "--ticket", "--rewind"], "leave out --rewind"),
        (["--keep", "0.2", "--ticket", "--dense", "x"], "leave out --dense"),
        (["--keep", "0.2", "--seeds", "3"], "add --ticket"),
        (["--keep", "0.2", "--ticket", "--seeds", "1"], "--seeds 1 is too few"),
        (["--keep", "1", "--ticket"], "--keep 1 prunes nothing"),
        (["--keep", "0.2", "--dense", "no/such/folder/x"], "name a file in a folder that exists"),
        (["--keep", "0.0001"], "At 0.01% of the weights nothing is left of the"),
        (["--keep", "0.0001", "--per-layer", "--rounds", "2"], "nothing is left of the"),
        (["--keep", "0.0001", "--ticket", "--rounds", "1"], "nothing is left of the"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_written(
    quick: ForkServer, dense: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    check_refused(quick("prune", dense, *options, "--out", "new", cwd=tmp_path), words)
    assert not list(tmp_path.iterdir())


def test_runs_that_cannot_be_pruned_are_refused(quick: ForkServer, dense: Path, pruned: Path, tmp_path: Path) -> None:
    keep = ["--keep", "0.2", "--out", "new"]
    check_refused(quick("prune", "nowhere", *keep, cwd=tmp_path), "nowhere is not a folder")
    check_refused(quick("prune", tmp_path, *keep, cwd=tmp_path), "is not a run: it has no recipe.toml")
    (tmp_path / "text.txt").write_text("to be or not to be, that is the question.\n" * 200)
    counted = ["text-gpt", "--data", "text.txt", "model=ngram", "train.steps=1", "--out", "counted", "--json"]
    assert quick("train", *counted, cwd=tmp_path).code == 0
    check_refused(quick("prune", "counted", *keep, cwd=tmp_path), "model=ngram learns without gradients")
    process = ["train", "digits-mlp", "train.epochs=200", "--out", "unfinished"]
    kill_after(tmp_path / "unfinished", 5, *process, cwd=tmp_path)
    check_refused(quick("prune", "unfinished", *keep, cwd=tmp_path), "is not finished", "gradlab resume unfinished")
    shutil.copytree(pruned, tmp_path / "small")
    check_refused(quick("prune", "small", "--keep", "0.3", cwd=tmp_path), "has 20% of its weights: no more can be kept")
    check_refused(quick("prune", "small", "--keep", "0.1", "--ticket", cwd=tmp_path), "is pruned already", str(dense))
    assert not (tmp_path / "new").exists()
    refused = quick("prune", dense, "--keep", "7", "--json", cwd=tmp_path)
    assert refused.json == {"error": refused.err.removeprefix("gradlab: ").strip()}


def test_a_run_of_fit_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    import torch

    import gradlab as gl

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    gl.fit(model, (torch.randn(40, 4), torch.randn(40, 1)), loss="mse", epochs=1, out=tmp_path / "fitted")
    check_refused(quick("prune", "fitted", "--keep", "0.5", cwd=tmp_path), "was made by gradlab.fit")


def test_damage_to_the_first_weights_is_named(quick: ForkServer, pruned: Path, tmp_path: Path) -> None:
    shutil.copytree(pruned, tmp_path / "run")
    flip_byte(tmp_path / "run" / "start" / "model.safetensors")
    check_refused(quick("prune", "run", "--keep", "0.1", cwd=tmp_path), "start/model.safetensors is damaged")


def test_a_run_without_its_first_weights_is_not_trained_on_densely(
    quick: ForkServer, pruned: Path, tmp_path: Path
) -> None:
    shutil.copytree(pruned, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    shutil.rmtree(tmp_path / "run" / "start")
    check_refused(quick("resume", "run", cwd=tmp_path), "does not fit its recipe", "pruned in one of them alone")
