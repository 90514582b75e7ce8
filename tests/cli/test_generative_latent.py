"""PCA, mixtures and autoencoders through the command line: trained, killed and resumed, used, and refused."""

import signal
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, check_same, check_sound, kill_after

OFTEN = ["train.log_every=5", "train.evaluate_every=6", "train.checkpoint_every=7"]
KILLED = {
    "denoising": ["digits-denoising", "task.mask=0.1", "task.sparsity=1e-4", "train.steps=150", "model.hidden=16"],
    "mixture": ["moons-mixture", "train.steps=150"],
}


@pytest.fixture(scope="module")
def pca(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pca")
    ended = quick("train", "digits-pca", "--out", "pca", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout").write_text(ended.out)
    return folder / "pca"


def test_pca_is_trained_in_one_step_that_says_so(pca: Path) -> None:
    printed = (pca.parent / "stdout").read_text()
    assert "one pass over the training split, without gradients" in printed
    assert "psnr" in printed
    page = (pca / "report.html").read_text()
    for title in ("Reconstructions", "Between two examples", "Latent space"):
        assert f"<h3>{title}</h3>" in page


def test_codes_are_predicted_of_new_inputs(quick: ForkServer, pca: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "some.npy", np.zeros((2, 1, 8, 8)))
    ended = quick("predict", pca, "some.npy", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    codes = [one["value"] for one in ended.json["predictions"]]
    assert [len(code) for code in codes] == [16, 16]


def test_an_autoencoder_is_trained_and_evaluated_beside_pca(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "digits-autoencoder", "train.epochs=2", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    again = quick("evaluate", "run", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    assert again.json["rmse"] == ended.json["test"]["rmse"]
    assert set(again.json["baselines"]) == {"training mean", "PCA, 16 numbers"}


@pytest.mark.parametrize("name", KILLED)
def test_one_that_was_killed_ends_the_same(name: str, quick: ForkServer, tmp_path: Path) -> None:
    arguments = ["train", *KILLED[name], *OFTEN]
    assert quick(*arguments, "--out", "whole", "--json", cwd=tmp_path).code == 0
    ended = kill_after(tmp_path / "run", 30, *arguments, "--out", "run", cwd=tmp_path)
    assert ended.code == -signal.SIGKILL, ended.err
    ended = quick("resume", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "resuming at step" in ended.out
    check_same(tmp_path / "run", tmp_path / "whole")
    check_sound(tmp_path / "run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["digits-pca", "model.dims=65"], ["has 1 to 64 axes, got dims=65"]),
        (["digits-pca", "train.steps=2"], ["PCA learns all there is in 1 step. Set train.steps=1"]),
        (["digits-autoencoder", "model=vgg"], ["gives outputs to compare with a target", "such as autoencoder"]),
        (["digits-autoencoder", "task.error=bernoulli", "data.preprocess=none"], ["these are 0 to 16"]),
        (["moons-mixture", "model.components=2000"], ["needs as many examples"]),
        (["moons-mixture", "model=autoencoder"], ["model=gaussian-mixture or model=pca"]),
        (["moons-mixture", "data=csv", "--data", "mixed.csv", "data.target=y"], ["draws plain numbers", "data.drop="]),
        (["digits-encoder", "model.of=mlp"], ["model.of=mlp has no encoder"]),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], words: list[str], quick: ForkServer, tmp_path: Path
) -> None:
    (tmp_path / "mixed.csv").write_text("size,kind,y\n" + "".join(f"{i}.5,{'abc'[i % 3]},{i % 2}\n" for i in range(60)))
    check_refused(quick("train", *arguments, "--out", "run", cwd=tmp_path), *words)
    assert not (tmp_path / "run").exists()


def test_a_mixture_that_falls_onto_a_point_ends_with_what_to_do(quick: ForkServer, tmp_path: Path) -> None:
    np.savez(tmp_path / "points.npz", x=np.repeat(np.eye(4), 20, 0), y=np.zeros(80, dtype=np.int64))
    arguments = ["npz", "--data", "points.npz", "model=gaussian-mixture", "model.floor=0", "task=density"]
    ended = quick("train", *arguments, "train.steps=9", "--out", "run", cwd=tmp_path)
    assert ended.code in (1, 2)
    assert "Raise model.floor" in ended.err
