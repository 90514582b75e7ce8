"""What the tasks and the calibration of a classifier look like on the command line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused


@pytest.fixture(scope="module")
def logistic(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logistic")
    ended = quick("train", "breast-cancer-logistic", "train.epochs=2", "--out", "run", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout").write_text(ended.out)
    return folder / "run"


def test_training_tells_the_calibration_in_one_line(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "iris-softmax", "--out", "run", cwd=tmp_path)
    found = json.loads((tmp_path / "run" / "result.json").read_text())["calibration"]
    expected = (
        f"calibration  test ECE {found['test_ece']:.3f}, {found['test_ece_calibrated']:.3f} at temperature "
        f"{found['temperature']:.3g} (fitted on validation)"
    )
    assert expected in ended.out.splitlines()


def test_a_validation_split_that_is_all_right_makes_nothing_certain(quick: ForkServer, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    y = np.arange(200) % 2
    np.savez(tmp_path / "data.npz", x=4.0 * y[:, None] + draw.standard_normal((200, 2)), y=y)
    ended = quick("train", "npz", "--data", "data.npz", "train.epochs=30", "--out", "run", cwd=tmp_path)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["validation"]["accuracy"] == 1, "else this shows nothing"
    calibration = result["calibration"]
    (line,) = (line for line in ended.out.splitlines() if line.startswith("calibration"))
    if calibration["temperature"] == 1:
        assert calibration["refused"] in line
    assert calibration["temperature"] > 0.3


def test_a_refused_temperature_is_told_with_its_reason(quick: ForkServer, logistic: Path, tmp_path: Path) -> None:
    found = json.loads((logistic / "result.json").read_text())["calibration"]
    assert found["temperature"] == 1
    reason = (
        "on held-out fifths of the validation split a fitted one does not lower the loss "
        f"({found['held_out_loss']:.4g} without, {found['held_out_loss_calibrated']:.4g} with it)"
    )
    assert found["refused"] == reason
    expected = f"calibration  test ECE {found['test_ece']:.3f}; temperature 1: {reason}"
    assert expected in (logistic.parent / "stdout").read_text().splitlines()
    arguments = ("predict", logistic, ",".join(["1"] * 30), "--json")
    plain, calm = (quick(*arguments, *more, cwd=tmp_path) for more in ((), ("--calibrated",)))
    assert f"as trained, at temperature 1: {reason}" in calm.err
    assert calm.json["predictions"] == plain.json["predictions"]


def test_progress_tells_the_loss_and_two_metrics(logistic: Path) -> None:
    line = (logistic.parent / "stdout").read_text().partition("step 1/2")[2].splitlines()[0]
    assert re.fullmatch(r".*validation loss [\d.]+, accuracy [\d.]+, f1 [\d.]+", line)


def test_predict_at_the_temperature_keeps_the_label_and_moves_the_probability(
    quick: ForkServer, tmp_path: Path
) -> None:
    iris = tmp_path / "iris"
    quick("train", "iris-softmax", "--out", iris, cwd=tmp_path)
    arguments = ("predict", iris, "6.1,2.9,4.7,1.4", "--json")
    plain, calm = (quick(*arguments, *more, cwd=tmp_path).json["predictions"][0] for more in ((), ("--calibrated",)))
    temperature = json.loads((iris / "result.json").read_text())["calibration"]["temperature"]
    powers = {name: p ** (1 / temperature) for name, p in plain["probabilities"].items()}
    assert calm["probabilities"] == pytest.approx({name: p / sum(powers.values()) for name, p in powers.items()})
    assert calm["label"] == plain["label"]
    assert calm["probability"] != pytest.approx(plain["probability"], abs=1e-6)


def test_a_run_without_a_temperature_refuses_to_calibrate(quick: ForkServer, diabetes: Path, tmp_path: Path) -> None:
    arguments = ("predict", diabetes, "50,1,25,90,180,100,50,4,5,90", "--calibrated")
    check_refused(quick(*arguments, cwd=tmp_path), "no temperature", "validation split")


def test_what_is_no_count_is_refused(quick: ForkServer, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.zeros((40, 2)), y=np.arange(40) / 2)
    ended = quick("train", "npz", "task=poisson", "--data", "data.npz", "--out", "run", cwd=tmp_path)
    check_refused(ended, "needs counts, whole numbers from 0, but a target is", "task=regress")
    assert not (tmp_path / "run").exists()


def test_three_classes_are_no_bernoulli_task(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "iris-softmax", "task=bernoulli", "--out", "run", cwd=tmp_path)
    check_refused(ended, "two classes, got 3", "task=classify")
