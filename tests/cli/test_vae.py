"""Variational autoencoders through the command line: what is told, and what is refused in a line."""

import json

import numpy as np
import pytest
from cli_helpers import check_refused

import gradlab as gl

SMALL = ["train", "digits-vae", "model.hidden=16", "model.latent=2", "train.epochs=2", "task.importance_samples=20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, quick):
    folder = tmp_path_factory.mktemp("vae")
    ended = quick(*SMALL, "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run", json.loads((folder / "run" / "result.json").read_text())


def test_a_run_tells_its_bound_beside_that_of_independent_pixels(run):
    _, result = run
    test = result["test"]
    assert {
        "loss",
        "reconstruction",
        "kl",
        "elbo",
        "bits_per_dim",
        "nll",
        "nll_error",
        "nll_draws_error",
    } <= test.keys()
    assert test["loss"] == pytest.approx(test["reconstruction"] + test["kl"])
    assert result["baseline"]["name"] == "independent pixels"
    assert result["baseline"]["test"]["kl"] == 0
    assert "20 codes of the encoder" in result["signatures"]["nll"]


def test_it_is_evaluated_again_to_the_same_figures_and_says_how(run, quick):
    path, result = run
    ended = quick("evaluate", path.name, cwd=path.parent)
    assert ended.code == 0, ended.err
    assert f"{result['test']['nll']:.4f}" in ended.out
    assert "importance sampling with 20 codes" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["data.preprocess=standardise"], ["data.binarise takes pixels", "Set data.preprocess=scale"]),
        (["data.augment.flip=true"], ["data.binarise and data.augment"]),
        (["data.binarise=none", "data.preprocess=standardise"], ["numbers between 0 and 1", "task.decoder=gaussian"]),
        (["data.binarise=always"], ["data.binarise", "once", "epoch"]),
        (["task.scale=0.1"], ["task.scale is for task.decoder=gaussian"]),
        (["task.bound=iwae", "task.beta=2"], ["task.beta changes the KL"]),
        (["model=mlp"], ["Take model=vae"]),
        (["task.samples=0"], ["task.samples"]),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_step(changes, words, quick, tmp_path):
    check_refused(quick(*SMALL[:2], *changes, "--out", "run", cwd=tmp_path), *words)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def gaussian(tmp_path_factory, quick):
    folder = tmp_path_factory.mktemp("gaussian")
    changes = ["data.binarise=none", "task.decoder=gaussian", "task.scale=0.3", "data.limit=200"]
    ended = quick(*SMALL, *changes, "--out", "run", "--json", cwd=folder)
    assert ended.code == 0, ended.err
    return folder


def samples(quick, folder, *options):
    ended = quick("generate", "run", "-n", "200", "--out", "samples.npz", *options, cwd=folder)
    assert ended.code == 0, ended.err
    with np.load(folder / "samples.npz") as arrays:
        return arrays["x"]


def test_generate_gives_means_unless_pixel_noise_is_requested(gaussian, quick):
    means, noisy = samples(quick, gaussian), samples(quick, gaussian, "--pixel-noise")
    run = gl.load_run(gaussian / "run")
    assert np.allclose(means, run.sample(200).x, atol=1e-3)
    assert np.allclose(noisy, run.sample(200, pixel_noise=True).x, atol=1e-3)
    roughness = [np.diff(samples.reshape(200, -1)).std() for samples in (means, noisy)]
    assert roughness[1] > 1.2 * roughness[0]


def test_pixel_noise_is_refused_where_there_is_none(run, gaussian, quick):
    path, _ = run
    check_refused(quick("generate", path.name, "--pixel-noise", cwd=path.parent), "task.decoder=gaussian")
    refused = quick("generate", "run", "--pixel-noise", "--interpolate", cwd=gaussian)
    check_refused(refused, "samples are means", "--pixel-noise")
