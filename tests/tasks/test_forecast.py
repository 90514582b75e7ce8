"""Forecasts: pinball loss, MASE, coverage and the naive ones, against scikit-learn and loops."""

import numpy as np
import pytest
import torch
from sklearn.metrics import mean_absolute_error, mean_pinball_loss
from torch import nn

from gradlab.data import Targets, load
from gradlab.errors import GradlabError
from gradlab.registry import Part
from gradlab.tasks import compare, evaluate, tasks
from gradlab.tasks.forecast import verdict
from gradlab.tasks.naive import Repeat


def task_for(dataset, **knobs):
    return tasks.build(tasks.resolve(Part("forecast", knobs), "task"), dataset.targets)


@pytest.fixture(scope="module")
def dataset():
    return load(Part("seasonal-series", {"horizon": 6, "history": 24, "rows": 300, "count": 3}), "series")


class Fixed(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = nn.Parameter(output)

    def forward(self, x):
        return x[:, -1, :1] + self.output


def test_the_loss_is_scikit_learns_pinball_loss(dataset):
    task = task_for(dataset, interval=0.9)
    output, target = torch.randn(50, 18), torch.randn(50, 6)
    total, count = task.loss(output, target)
    ends = task.ends(output)
    expected = np.mean(
        [mean_pinball_loss(target, ends[..., i], alpha=q) for i, q in enumerate((0.05, 0.5, 0.95))],
    )
    assert (total / count).item() == pytest.approx(expected, rel=1e-5)
    weighted, _ = task.loss(output, target, torch.full((50,), 2.0))
    assert weighted.item() == pytest.approx(2 * total.item(), rel=1e-5)
    assert (ends.diff(dim=-1) >= 0).all()


def test_figures_are_those_of_a_loop_over_origins_in_raw_units(dataset):
    task, panel, seen = task_for(dataset), dataset.raw, dataset.preprocessing
    model = Fixed(0.3 * torch.randn(18))
    figures = evaluate(model, task, dataset.test)
    rows, errors, scaled, inside = dataset.test.rows, [], [], []
    ends = task.ends(model(dataset.test.inputs[:])).detach().double().numpy()
    begins = np.cumsum([0, *(len(one.values) + 6 for one in panel.series)])
    end = 300 - 60 - round(0.15 * 240)
    for row, (low, median, high) in zip(rows, ends.transpose(0, 2, 1), strict=True):
        which = int(np.searchsorted(begins, row, side="right")) - 1
        values, origin = panel.series[which].values, row - begins[which]
        training = values[:end]
        centre, truth = values[origin - 24 : origin].mean(), values[origin : origin + 6]
        low, median, high = (centre + training.std() * each for each in (low, median, high))
        naive = mean_absolute_error(training[24:], training[:-24])
        errors.append(mean_absolute_error(truth, median))
        scaled.append(errors[-1] / naive)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert figures["mae"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert figures["mase"] == pytest.approx(np.mean(scaled), rel=1e-4)
    assert figures["coverage"] == pytest.approx(np.mean(inside), abs=2e-3)
    by_step = task.by_step(model, dataset.test)
    assert np.mean(by_step["mase"]) == pytest.approx(figures["mase"], rel=1e-5)
    assert np.mean(by_step["coverage"]) == pytest.approx(figures["coverage"], rel=1e-5)
    assert seen.season == 24


def test_naive_forecasts_repeat_what_was_there(dataset):
    task = task_for(dataset)
    baselines = task.baselines(dataset.train, nn.Identity())
    assert list(baselines) == ["last value", "seasonal"]
    inputs = dataset.test.inputs[:]
    median = task.ends(baselines["seasonal"](inputs))[..., 1]
    assert torch.equal(median, inputs[:, :6, 0])  # of a history of one season
    assert torch.equal(task.ends(baselines["last value"](inputs))[:, 3, 1], inputs[:, 23, 0])
    figures = compare(baselines, task, dataset.train)
    assert figures["seasonal"]["coverage"] == pytest.approx(0.8, abs=0.05)
    # In its own training part repeating a season is off by what it is measured in.
    assert figures["seasonal"]["mase"] == pytest.approx(1.0, abs=0.1)


def test_a_horizon_beyond_the_season_repeats_it_again():
    x = torch.arange(5.0)[None, :, None]
    assert Repeat(2, 4, torch.zeros(5, 1))(x).tolist() == [[2.0, 3.0, 2.0, 3.0, 2.0]]


def test_without_a_season_there_is_one_baseline():
    task = tasks.build(tasks.resolve(Part("forecast"), "task"), Targets(horizon=3, history=5, season=1))
    assert list(task.plain_baselines()) == ["last value"]


def test_the_verdict_is_of_the_best_baseline():
    means, steps = {"last value": 0.5, "seasonal": 1.0}, {"last value": [0.4, 0.6], "seasonal": [1.0, 1.0]}
    assert "does not beat that of the last value, 0.5000" in verdict(0.7, means, [0.7, 0.7], steps)
    assert "better at every step" in verdict(0.3, means, [0.3, 0.3], steps)
    assert "not better at 1 of 2 steps ahead (the first: 1)" in verdict(0.45, means, [0.45, 0.45], steps)


def test_other_data_are_refused():
    with pytest.raises(GradlabError, match="needs time series"):
        tasks.build(tasks.resolve(Part("forecast"), "task"), Targets(mean=[0.0], std=[1.0]))
