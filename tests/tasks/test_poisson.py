import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance, r2_score, root_mean_squared_error
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.tasks import Poisson
from gradlab.tasks.evaluation import evaluate


@pytest.fixture
def raw(rng):
    return rng.poisson(40, 30).astype(np.float32)


@pytest.fixture
def task(raw):
    return Poisson(Targets.of(raw, None))


def test_the_loss_is_the_equation_of_the_docstring(task, raw):
    z, y = torch.randn(30, 1), torch.from_numpy(raw)[:, None]
    total, count = task.loss(z, task.encode(y[:, 0]))
    relative = y / raw.mean()
    assert count == 30
    assert total.item() == pytest.approx((z.exp() - relative * z).sum().item(), rel=1e-5)


def test_the_loss_is_the_poisson_likelihood_of_torch_in_other_units(task, raw):
    z = torch.randn(30, 1, dtype=torch.float64, requires_grad=True)
    y = torch.from_numpy(raw).double()
    ours = task.loss(z, task.encode(y))[0] * task.scale.double()
    log_mean = z[:, 0] + math.log(raw.mean())
    theirs = F.poisson_nll_loss(log_mean, y, log_input=True, full=True, reduction="sum")
    (gradient,), (expected,) = torch.autograd.grad(ours, z), torch.autograd.grad(theirs, z)
    assert_close(gradient, expected, rtol=1e-6, atol=1e-6)


def test_the_weight_of_an_example_multiplies_its_loss(task, raw):
    z, y, weight = torch.randn(30, 1), task.encode(torch.from_numpy(raw)), torch.rand(30)
    each = torch.stack([task.loss(z[i : i + 1], y[i : i + 1])[0] for i in range(30)])
    for judge in (task.loss, task.training_loss):
        assert_close(judge(z, y, weight)[0], weight @ each)


def test_predictions_are_counts_to_be_expected(task, raw):
    values = [p["value"] for p in task.decode(torch.tensor([[0.0], [1.0]]))]
    assert values == pytest.approx([raw.mean(), math.e * raw.mean()], rel=1e-6)


def test_metrics_are_of_the_mean_in_counts(task, raw):
    z = 0.3 * torch.randn(30, 1)
    figures = evaluate(nn.Identity(), task, Examples.of(z, task.encode(torch.from_numpy(raw))))
    values = np.array([p["value"] for p in task.decode(z)])
    judges = {
        "rmse": root_mean_squared_error,
        "mae": mean_absolute_error,
        "r2": r2_score,
        "deviance": mean_poisson_deviance,
    }
    assert list(task.metrics) == list(judges)
    assert {k: v for k, v in figures.items() if k != "loss"} == pytest.approx(
        {name: judge(raw, values) for name, judge in judges.items()}, rel=1e-5
    )


def test_the_baseline_is_the_training_mean_where_a_model_starts(task, raw, baseline):
    target = task.encode(torch.from_numpy(raw))
    name, outputs = baseline(task, target, 30)
    figures = evaluate(nn.Identity(), task, Examples.of(outputs, target))
    judge = DummyRegressor().fit(np.zeros((30, 1)), raw).predict(np.zeros((30, 1)))
    assert name == "training mean"
    assert figures["deviance"] == pytest.approx(mean_poisson_deviance(raw, judge), rel=1e-4)
    assert figures["loss"] == pytest.approx(task.expected_initial_loss()[0], rel=1e-6)
    assert evaluate(nn.Identity(), task, Examples.of(torch.zeros(30, 1), target))["loss"] == pytest.approx(1)


def test_counts_that_are_all_zero_are_no_trouble(baseline):
    task = Poisson(Targets.of(np.zeros(5), None))
    target = task.encode(torch.zeros(5))
    figures = evaluate(nn.Identity(), task, Examples.of(baseline(task, target, 5)[1], target))
    assert all(math.isfinite(v) for v in figures.values())
    assert figures["rmse"] < 1e-6


def test_several_counts_are_scaled_each_by_itself(rng):
    raw = rng.poisson([2, 300], (30, 2)).astype(np.float32)
    task = Poisson(Targets.of(raw, None))
    encoded = task.encode(torch.from_numpy(raw))
    assert task.outputs == 2
    assert_close(encoded.mean(0), torch.ones(2))
    np.testing.assert_allclose(task.decode(torch.zeros(1, 2))[0]["value"], raw.mean(0), rtol=1e-6)


@pytest.mark.parametrize("bad", [-1.0, 2.5, 1e-3])
def test_what_is_no_count_is_refused_with_its_value(task, bad):
    with pytest.raises(GradlabError, match=rf"needs counts, whole numbers from 0, but a target is {bad:g}\."):
        task.encode(torch.tensor([3.0, bad, 0.0]))


def test_a_split_without_examples_stays_empty(task):
    assert task.encode(torch.empty(0)).shape == (0, 1)


def test_classes_are_refused():
    with pytest.raises(GradlabError, match="Use task=classify"):
        Poisson(Targets(classes=["a", "b"]))
