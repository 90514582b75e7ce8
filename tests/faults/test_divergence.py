"""A training that leaves the numbers ends with exit code 1, says where, and keeps its last sound weights."""

import re
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_sound, checkpoints, gradlab
from safetensors.numpy import load_file

DIVERGENT = {
    "a perceptron": ["digits-mlp", "train.optimizer=sgd", "train.lr=1e30"],
    "a regression": ["linear-regression", "train.lr=1e5"],
    "a regression with momentum": ["linear-regression", "train.optimizer=momentum", "train.lr=1e4"],
    "Adam": ["linear-regression", "train.optimizer=adam", "train.lr=1e30"],
    "L-BFGS": ["digits-softmax", "train.optimizer=lbfgs", "train.batch_size=full", "train.lr=1e38"],
}


@pytest.mark.parametrize("case", DIVERGENT)
def test_divergence_is_told_and_the_last_sound_checkpoint_kept(quick: ForkServer, tmp_path: Path, case: str) -> None:
    recipe, *changes = DIVERGENT[case]
    arguments = ("train", recipe, *changes, "train.checkpoint_every=1", "train.epochs=40", "--out", "run")
    ended = quick(*arguments, cwd=tmp_path)
    check_refused(ended, "diverged in step", "train.lr", code=1)
    assert re.search(r"output of \S+ \(\w+\)|gradient of \S+|the loss is|norm of the gradient", ended.err), ended.err
    run = tmp_path / "run"
    check_sound(run)
    for folder in checkpoints(run):
        for file in folder.glob("*.safetensors"):
            if file.name != "optimizer.safetensors":
                for name, tensor in load_file(file).items():
                    assert abs(tensor.astype("f8")).max() < float("inf"), f"{file.name}: {name}"
    assert not (run / "result.json").exists()
    again = quick("resume", "run", cwd=tmp_path)
    check_refused(again, "diverged in step", code=1)
    assert again.err == ended.err


def test_divergence_in_a_process_of_its_own(tmp_path: Path) -> None:
    changes = ("train.optimizer=sgd", "train.lr=1e30", "train.checkpoint_every=1")
    ended = gradlab("train", "digits-mlp", *changes, "--out", "run", "--json", cwd=tmp_path)
    check_refused(ended, "diverged in step", "(Linear)", "train.lr", "train.clip", code=1)
    assert "diverged in step" in ended.json["error"]
    assert checkpoints(tmp_path / "run")


def test_the_advice_given_on_divergence_can_be_followed(quick: ForkServer, tmp_path: Path) -> None:
    """L-BFGS does not go with clipping, so clipping is no advice for it."""
    recipe, *changes = DIVERGENT["L-BFGS"]
    ended = quick("train", recipe, *changes, "--out", "run", cwd=tmp_path)
    check_refused(ended, "diverged", code=1)
    assert "train.clip" not in ended.err


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_a_run_that_diverged_at_once_says_that_it_has_no_model(quick: ForkServer, tmp_path: Path, name: str) -> None:
    arguments = ("train", "linear-regression", "train.lr=1e30", "--out", "run")
    check_refused(quick(*arguments, cwd=tmp_path), "diverged", code=1)
    inputs = ["1,2,3,4,5"] if name == "predict" else []
    check_refused(quick(name, "run", *inputs, cwd=tmp_path), "no checkpoint")
