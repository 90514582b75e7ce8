import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as judge

from gradlab.tasks.metrics import accuracy, confusion_matrix, macro_f1, r2, rmse

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torchmetrics.functional import mean_squared_error, r2_score
    from torchmetrics.functional.classification import multiclass_accuracy, multiclass_f1_score

CLASSES = 5
SIZES = st.lists(st.integers(1, 20), min_size=1, max_size=5)  # of ragged batches


def classified(seed, sizes, present=CLASSES):
    generator = torch.Generator().manual_seed(seed)
    count = sum(sizes)
    return torch.randn(count, CLASSES, generator=generator), torch.randint(present, (count,), generator=generator)


def measured(seed, sizes):
    generator = torch.Generator().manual_seed(seed)
    count = max(sum(sizes), 5)  # a spread near zero is another law's case
    target = 3 + 2 * torch.randn(count, generator=generator)
    return target + torch.randn(count, generator=generator), target


def in_batches(metric, output, target, sizes):
    sizes = [*sizes[:-1], len(target) - sum(sizes[:-1])]
    parts = [metric.sums(o, t) for o, t in zip(output.split(sizes), target.split(sizes), strict=True)]
    return metric.value(sum(parts))


@given(st.integers(0, 10**6), SIZES)
def test_accuracy_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes):
    logits, target = classified(seed, sizes)
    got = in_batches(accuracy(), logits, target, sizes)
    assert got == pytest.approx(judge.accuracy_score(target, logits.argmax(1)), abs=1e-12)
    assert got == pytest.approx(multiclass_accuracy(logits, target, CLASSES, average="micro").item(), abs=1e-6)


@given(st.integers(0, 10**6), SIZES, st.integers(1, CLASSES))
def test_macro_f1_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes, present):
    logits, target = classified(seed, sizes, present)
    got = in_batches(macro_f1(CLASSES), logits, target, sizes)
    assert got == pytest.approx(judge.f1_score(target, logits.argmax(1), average="macro"), abs=1e-12)
    assert got == pytest.approx(multiclass_f1_score(logits, target, CLASSES, average="macro").item(), abs=1e-6)


@given(st.integers(0, 10**6), SIZES)
def test_rmse_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes):
    output, target = measured(seed, sizes)
    got = in_batches(rmse(), output, target, sizes)
    assert got == pytest.approx(judge.root_mean_squared_error(target, output), rel=1e-5)
    assert got == pytest.approx(mean_squared_error(output, target, squared=False).item(), rel=1e-5)


@given(st.integers(0, 10**6), SIZES)
def test_r2_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes):
    output, target = measured(seed, sizes)
    got = in_batches(r2(), output, target, sizes)
    assert got == pytest.approx(judge.r2_score(target.double(), output.double()), rel=1e-9)
    assert got == pytest.approx(r2_score(output.double(), target.double()).item(), rel=1e-9)


def test_the_mean_of_batch_means_is_rejected_by_the_law_of_ragged_batches():
    logits, target = classified(0, [7, 2])
    parts = logits.split([7, 2]), target.split([7, 2])
    means = [judge.accuracy_score(t, o.argmax(1)) for o, t in zip(*parts, strict=True)]
    assert abs(np.mean(means) - in_batches(accuracy(), logits, target, [7, 2])) > 1e-3


@given(st.integers(0, 10**6), SIZES)
def test_the_confusion_matrix_is_that_of_scikit_learn(seed, sizes):
    logits, target = classified(seed, sizes)
    got = confusion_matrix(CLASSES)(logits, target)
    assert np.array_equal(got.numpy(), judge.confusion_matrix(target, logits.argmax(1), labels=range(CLASSES)))


def test_rmse_is_told_in_the_units_of_the_raw_target():
    output, target = measured(0, [20])
    assert rmse(2.5).value(rmse(2.5).sums(output, target)) == pytest.approx(
        judge.root_mean_squared_error(2.5 * target, 2.5 * output), rel=1e-6
    )


def test_r2_of_constant_targets_is_not_a_number():
    metric = r2()
    assert math.isnan(metric.value(metric.sums(torch.randn(4), torch.ones(4))))


def test_sums_of_many_examples_stay_exact_where_float32_would_not():
    metric = accuracy()
    part = metric.sums(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
    assert metric.value(part * (2**24 + 1) + metric.sums(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))) < 1


def test_the_direction_of_each_metric_is_known():
    assert [m.higher_is_better for m in (accuracy(), macro_f1(2), r2(), rmse())] == [True, True, True, False]
