"""Nothing that is not finite passes a boundary: weights, losses, results and predictions."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.errors import NumericalError


@pytest.mark.parametrize("change", [{"train.lr": 1e300}, {"train.lr": 1e30, "train.weight_decay": 1e30}])
def test_an_update_that_overflows_ends_the_run_and_is_not_saved(change, tmp_path):
    settings = {"train.optimizer": "sgd", "train.steps": 1, "train.keep": "last", **change}
    with pytest.raises(NumericalError, match=r"^The weights .* are not finite after step 1.*Lower train.lr") as error:
        gl.train("digits-mlp", settings, out=tmp_path / "run")
    assert error.value.exit_code == 1
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))
    assert not (tmp_path / "run" / "result.json").exists()


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def test_one_huge_number_in_validation_names_its_example(model):
    x = torch.randn(40, 3)
    split = x[:8].clone()
    split[5, 1] = 3e38
    with pytest.raises(NumericalError, match=r"step 0\): .*so is that of row 5 .*3e\+38"):
        gl.fit(model, (x, x.sum(1)), loss="mse", epochs=1, validation=(split, split[:, 0]))


def test_a_target_that_overflows_the_loss(model):
    x = torch.randn(40, 3)
    y = x.sum(1)
    y[3] = 3e38
    with pytest.raises(NumericalError, match=r"loss is inf \(validation split, step 0\)"):
        gl.fit(model, (x, x.sum(1)), loss="mse", epochs=1, validation=(x, y))


def test_a_training_loss_that_is_no_number_though_its_gradient_is(model):
    x = torch.randn(40, 3)

    def absolute(output, target):
        return (output[:, 0] - target).abs().mean() + torch.nan

    with pytest.raises(NumericalError, match=r"loss is nan \(training, step 1\)"):
        gl.fit(model, (x, x.sum(1)), loss=absolute, epochs=1, batch_size=40)


def test_predictions_are_numbers(tmp_path):
    run = gl.train("iris-softmax", {"train.epochs": 1, "train.lr": 1.0}, out=tmp_path / "run")
    with torch.no_grad():
        run.model.get_parameter(next(n for n, _ in run.model.named_parameters())).mul_(1e30)
    with pytest.raises(NumericalError, match=r"output for row 1 .*not finite"):
        run.predict(np.array([[5.0, 3.5, 1.4, 0.2], [3e38, 3e38, -3e38, 3e38]]))


def test_results_are_json_that_any_reader_takes(tmp_path):
    run = gl.train("iris-softmax", {"train.epochs": 1}, out=tmp_path / "run")
    for path in run.path.glob("*.json*"):
        for text in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
            json.loads(text, parse_constant=lambda name, path=path: pytest.fail(f"{name} in {path}"))
