import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.tasks import Bernoulli, Classify, Poisson, Regress, predict
from gradlab.tasks.evaluation import evaluate, evaluate_supervised

CLASSIFY = Classify(Targets(classes=["a", "b", "c"]))
BERNOULLI = Bernoulli(Targets(classes=["a", "b"]))
REGRESS = Regress(Targets(mean=[1.0], std=[2.0]))
POISSON = Poisson(Targets(mean=[1.5], std=[1.0]))


def problem(task, count=23):
    target = torch.arange(count) % (2 if task is BERNOULLI else 3)
    return torch.randn(count, 4), task.encode(target if task.wants == "classes" else target.float())


@pytest.mark.parametrize("task", [CLASSIFY, BERNOULLI, REGRESS, POISSON])
@pytest.mark.parametrize("rows", [1, 4, 22, 23, 4096])
def test_a_split_judged_in_parts_is_judged_as_a_whole(task, rows):
    model, (x, y) = nn.Linear(4, task.outputs), problem(task)
    output = model(x).detach()
    total, count = task.loss(output, y)
    whole = {name: metric.value(metric.sums(output, y)) for name, metric in task.metrics.items()}
    whole = {"loss": total.item() / count, **whole}
    assert list(whole) == ["loss", *task.metrics]
    assert evaluate_supervised(model, task, Examples.of(x, y), rows) == pytest.approx(whole, rel=1e-5)


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 60))
def test_no_figure_depends_on_how_a_split_is_cut(seed, count, rows):
    torch.manual_seed(seed)
    for task in (CLASSIFY, BERNOULLI, REGRESS, POISSON):
        model, (x, y) = nn.Linear(4, task.outputs), problem(task, count)
        order = torch.randperm(count)
        assert evaluate_supervised(model, task, Examples.of(x[order], y[order]), rows) == pytest.approx(
            evaluate_supervised(model, task, Examples.of(x, y)), rel=1e-5
        )


def test_a_figure_that_is_undefined_is_left_out():
    model, x = nn.Linear(4, 3), torch.randn(6, 4)
    assert set(CLASSIFY.metrics) - set(evaluate(model, CLASSIFY, Examples.of(x, torch.full((6,), 2)))) == {"auroc"}
    constant = REGRESS.encode(torch.ones(6))
    assert "r2" not in evaluate_supervised(nn.Linear(4, 1), REGRESS, Examples.of(x, constant))


@pytest.mark.parametrize("task", [CLASSIFY, BERNOULLI, REGRESS, POISSON])
def test_outputs_that_are_not_numbers_are_told_in_every_figure_they_spoil(task):
    model, (x, y) = nn.Linear(4, task.outputs), problem(task)
    names = list(evaluate_supervised(model, task, Examples.of(x, y)))
    nn.init.constant_(model.weight, torch.nan)
    figures = evaluate_supervised(model, task, Examples.of(x, y))
    assert math.isnan(figures["loss"])
    assert list(figures) == names


def test_each_shared_sum_is_computed_once_a_batch():
    calls = Counter()

    def counted(sums):
        def count(output, target):
            calls[sums] += 1
            return sums(output, target)

        return count

    task = Classify(Targets(classes=["a", "b", "c"]))
    once = {m.sums: counted(m.sums) for m in task.metrics.values()}
    task.metrics = {name: replace(m, sums=once[m.sums]) for name, m in task.metrics.items()}
    evaluate_supervised(nn.Linear(4, 3), task, Examples.of(*problem(CLASSIFY)), rows=10)
    assert list(calls.values()) == [3, 3]


def test_predictions_in_parts_are_those_of_the_whole():
    model, x = nn.Linear(4, 3), torch.randn(10, 4)
    torch.testing.assert_close(predict(model, x, rows=3), model(x).detach())


def test_dropout_is_off_and_batch_statistics_are_not_moved():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    x, y = problem(CLASSIFY)
    assert evaluate_supervised(model, CLASSIFY, Examples.of(x, y)) == evaluate(model, CLASSIFY, Examples.of(x, y))
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


@pytest.mark.parametrize("fails", [False, True])
def test_every_module_is_left_in_the_mode_it_had(fails):
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), nn.Linear(8, 3))
    model[2].eval()  # frozen on purpose, as in fine-tuning
    modes = [m.training for m in model.modules()]
    x = torch.randn(5, 3 if fails else 4)
    if fails:
        with pytest.raises(RuntimeError):
            predict(model, x)
    else:
        predict(model, x)
    assert [m.training for m in model.modules()] == modes
