"""A model is better than its best baseline by more than the standard error of their difference, or it is not."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.tasks import Classify, Regress
from gradlab.tasks.baseline_comparison import compare_with_baselines, paired_error, unpaired_error
from gradlab.tasks.evaluation import compare, evaluate

TASK = Classify(Targets(classes=["a", "b"], counts=[50, 50]))


class Columns(nn.Module):
    """Two of the input columns are its outputs."""

    def __init__(self, first):
        super().__init__()
        self.first = first

    def forward(self, x):
        return x[:, self.first : self.first + 2]


def examples(rows, share=0.5):
    target = (torch.rand(rows) < share).long()
    hint = 1.2 * nn.functional.one_hot(target, 2)
    noise = torch.randn(rows, 2)  # that both models share, as examples that are hard for both
    return Examples.of(torch.cat([hint + noise + torch.randn(rows, 2), hint + noise + torch.randn(rows, 2)], 1), target)


def test_the_error_of_a_mean_is_that_of_the_paired_differences():
    some = examples(80)
    right = [(some.inputs[:, i : i + 2].argmax(1) == some.targets).double() for i in (0, 2)]
    wanted = (right[0] - right[1]).std() / math.sqrt(80)
    assert paired_error(TASK, Columns(0), Columns(2), some, "accuracy") == pytest.approx(wanted.item())


@pytest.mark.parametrize("metric", ["accuracy", "auroc", "f1", "loss"])
def test_groups_of_many_examples_give_the_error_of_a_bootstrap(metric, rng):
    some = examples(3000, share=0.2)
    gaps = []
    for _ in range(120):
        rows = some.subset(rng.integers(0, 3000, 3000))
        gaps.append(evaluate(Columns(0), TASK, rows)[metric] - evaluate(Columns(2), TASK, rows)[metric])
    assert paired_error(TASK, Columns(0), Columns(2), some, metric) == pytest.approx(np.std(gaps), rel=0.3)


def test_more_examples_than_are_looked_at_make_the_error_smaller():
    some = examples(20_000)
    error = paired_error(TASK, Columns(0), Columns(2), some, "accuracy")
    half = paired_error(TASK, Columns(0), Columns(2), some.subset(np.arange(5000)), "accuracy")
    assert error == pytest.approx(half / 2, rel=0.3)


def test_weights_of_examples_count_in_the_loss():
    some = examples(60)
    weighted = some.but(weights=torch.where(torch.arange(60) < 30, 2.0, 0.0))
    errors = [paired_error(TASK, Columns(0), Columns(2), split, "loss") for split in (some, weighted)]
    assert errors[0] != pytest.approx(errors[1], rel=0.05)


def test_sums_of_means_have_the_errors_of_both():
    first, second = {"return": 9.0, "return_std": 3.0}, {"return": 5.0, "return_std": 4.0}
    assert unpaired_error(first, second, "return", 25) == pytest.approx(1.0)
    assert unpaired_error({"nll": 1.0, "nll_se": 0.3}, {"nll": 2.0, "nll_se": 0.4}, "nll", 9) == pytest.approx(0.5)
    assert unpaired_error({"nll": 1.0}, {"nll": 2.0, "nll_se": 0.4}, "nll", 9) is None


def comparison(task, model, others, some):
    return compare_with_baselines(task, model, others, some, evaluate(model, task, some), compare(others, task, some))


def test_the_best_of_the_baselines_is_the_one_to_beat():
    some = examples(400)
    constant = nn.Linear(4, 2)
    nn.init.zeros_(constant.weight)
    beside = comparison(TASK, Columns(0), {"constant": constant, "other columns": Columns(2)}, some)
    assert beside is not None
    assert (beside.metric, beside.baseline) == ("accuracy", "other columns")
    assert comparison(TASK, Columns(0), {"constant": constant}, some).better


def test_a_model_that_equals_a_baseline_is_not_better():
    beside = comparison(TASK, Columns(0), {"the same": Columns(0)}, examples(100))
    assert (beside.standard_error, beside.better) == (0.0, False)


def test_what_is_better_by_less_than_the_standard_error_is_not_better():
    targets = torch.zeros(50, 1)
    some = Examples.of(torch.cat([torch.randn(50, 1), torch.randn(50, 1)], 1), targets)
    task = Regress(Targets(mean=[0.0], std=[1.0]))

    class Scaled(nn.Module):
        def __init__(self, column, scale):
            super().__init__()
            self.column, self.scale = column, scale

        def forward(self, x):
            return self.scale * x[:, self.column : self.column + 1]

    spreads = some.inputs.square().mean(0).sqrt()
    for factor, better in ((0.99, False), (0.3, True)):
        model = Scaled(0, factor * float(spreads[1] / spreads[0]))
        beside = comparison(task, model, {"other": Scaled(1, 1.0)}, some)
        assert beside.metric == "rmse"
        assert beside.value < beside.baseline_value
        assert beside.better is better


def test_what_nobody_can_beat_is_no_baseline():
    class Bounded(Classify):
        optimal_references = ("the same",)

    task = Bounded(Targets(classes=["a", "b"], counts=[50, 50]))
    assert comparison(task, Columns(0), {"the same": Columns(0)}, examples(100)) is None


def test_outputs_that_are_no_tensor_have_no_paired_error():
    class Pair(Columns):
        def forward(self, x):
            return (super().forward(x),)

    assert paired_error(TASK, Pair(0), Pair(2), examples(100), "accuracy") is None
