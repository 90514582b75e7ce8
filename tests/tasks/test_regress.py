import numpy as np
import pytest
import torch
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_squared_error, root_mean_squared_error
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.tasks import Regress
from gradlab.tasks.evaluation import evaluate


@pytest.fixture
def raw(rng):
    return rng.normal(40, 7, 30).astype(np.float32)


def test_targets_are_standardised_and_predictions_are_turned_back(raw):
    task = Regress(Targets.of(raw, None))
    encoded = task.encode(torch.from_numpy(raw))
    assert encoded.shape == (30, 1)
    assert abs(encoded.mean().item()) < 1e-5
    assert encoded.std(correction=0).item() == pytest.approx(1, abs=1e-5)
    assert_close(torch.tensor([p["value"] for p in task.decode(encoded)]).float(), torch.from_numpy(raw))


def test_the_loss_is_the_squared_error_of_the_standardised_target(raw):
    task = Regress(Targets.of(raw, None))
    target, output = task.encode(torch.from_numpy(raw)), torch.randn(30, 1)
    total, count = task.loss(output, target)
    assert total.item() / count == pytest.approx(mean_squared_error(target, output), rel=1e-5)


def test_rmse_is_in_the_units_of_the_raw_target(raw):
    task = Regress(Targets.of(raw, None))
    output = torch.randn(30, 1)
    values = [p["value"] for p in task.decode(output)]
    got = evaluate(nn.Identity(), task, Examples.of(output, task.encode(torch.from_numpy(raw))))["rmse"]
    assert got == pytest.approx(root_mean_squared_error(raw, values), rel=1e-5)


def test_the_baseline_is_the_training_mean_whose_loss_is_the_variance(raw, baseline):
    task = Regress(Targets.of(raw, None))
    target = task.encode(torch.from_numpy(raw))
    name, outputs = baseline(task, target, 30)
    figures = evaluate(nn.Identity(), task, Examples.of(outputs, target))
    judge = DummyRegressor().fit(np.zeros((30, 1)), raw).predict(np.zeros((30, 1)))
    assert name == "training mean"
    assert figures["loss"] == pytest.approx(task.expected_initial_loss()[0], rel=1e-5)
    assert figures["rmse"] == pytest.approx(root_mean_squared_error(raw, judge), rel=1e-5)
    assert figures["r2"] == pytest.approx(0, abs=1e-6)


def test_several_targets_are_standardised_each_by_itself(rng):
    raw = rng.normal([0, 100], [1, 20], (30, 2)).astype(np.float32)
    task = Regress(Targets.of(raw, None))
    encoded = task.encode(torch.from_numpy(raw))
    assert task.outputs == 2
    assert_close(encoded.std(0, correction=0), torch.ones(2))
    assert_close(torch.tensor([p["value"] for p in task.decode(encoded)]).float(), torch.from_numpy(raw))


def test_a_split_without_examples_stays_empty(raw):
    assert Regress(Targets.of(raw, None)).encode(torch.empty(0)).shape == (0, 1)
    assert Regress(Targets.of(np.stack([raw, raw], 1), None)).encode(torch.empty(0, 2)).shape == (0, 2)


def test_classes_are_refused():
    with pytest.raises(GradlabError, match="Use task=classify"):
        Regress(Targets(classes=["a", "b"]))
