import math
import warnings
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as judge

from gradlab.tasks.metrics import Metric, class_metrics, confusion_matrix, deviance, mae, r2, rmse, viewed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torchmetrics.functional import mean_absolute_error, mean_squared_error, r2_score
    from torchmetrics.functional.classification import (
        binary_auroc,
        multiclass_accuracy,
        multiclass_auroc,
        multiclass_calibration_error,
        multiclass_f1_score,
    )

CLASSES = 5
ACCURACY, F1, BALANCED, AUROC, ECE = class_metrics(CLASSES).values()
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
    return metric.value(reduce(metric.merge, parts))


def whole(metric, output, target):
    return metric.value(metric.sums(output, target))


@given(st.integers(0, 10**6), SIZES)
def test_accuracy_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes):
    logits, target = classified(seed, sizes)
    got = in_batches(ACCURACY, logits, target, sizes)
    assert got == pytest.approx(judge.accuracy_score(target, logits.argmax(1)), abs=1e-12)
    assert got == pytest.approx(multiclass_accuracy(logits, target, CLASSES, average="micro").item(), abs=1e-6)


@given(st.integers(0, 10**6), SIZES, st.integers(1, CLASSES))
def test_macro_f1_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes, present):
    logits, target = classified(seed, sizes, present)
    got = in_batches(F1, logits, target, sizes)
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
    assert abs(np.mean(means) - in_batches(ACCURACY, logits, target, [7, 2])) > 1e-3


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
    metric = class_metrics(2)["accuracy"]
    part = metric.sums(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
    assert metric.value(part * (2**24 + 1) + metric.sums(torch.tensor([[1.0, 0.0]]), torch.tensor([1]))) < 1


def test_the_direction_of_each_metric_is_known():
    metrics = {**class_metrics(2), "rmse": rmse(), "mae": mae(), "r2": r2(), "deviance": deviance()}
    higher = {"accuracy", "balanced_accuracy", "f1", "auroc", "r2"}
    assert {name for name, m in metrics.items() if m.higher_is_better} == higher


# Of classes.


@given(st.integers(0, 10**6), SIZES, st.integers(1, CLASSES))
def test_balanced_accuracy_over_ragged_batches_is_that_of_scikit_learn_and_torchmetrics(seed, sizes, present):
    logits, target = classified(seed, sizes, present)
    got = in_batches(BALANCED, logits, target, sizes)
    # The mean recall: a class that is predicted but does not occur has none.
    occurring = target.unique().tolist()
    recalls = judge.recall_score(target, logits.argmax(1), labels=occurring, average="macro", zero_division=0)
    assert got == pytest.approx(recalls, abs=1e-12)
    if len(occurring) == CLASSES:
        assert got == pytest.approx(judge.balanced_accuracy_score(target, logits.argmax(1)), abs=1e-12)
        assert got == pytest.approx(multiclass_accuracy(logits, target, CLASSES, average="macro").item(), abs=1e-6)


@given(st.integers(0, 10**6), SIZES, st.booleans())
def test_auroc_of_two_classes_is_that_of_scikit_learn_and_torchmetrics_with_or_without_ties(seed, sizes, tied):
    generator = torch.Generator().manual_seed(seed)
    margin, target = torch.randn(sum(sizes), generator=generator), torch.randint(2, (sum(sizes),), generator=generator)
    margin = margin.round() if tied else margin
    logits = torch.stack([torch.zeros_like(margin), margin], 1)
    got = in_batches(class_metrics(2)["auroc"], logits, target, sizes)
    if len(target.unique()) < 2:
        assert math.isnan(got)
        return
    assert got == pytest.approx(judge.roc_auc_score(target, margin), abs=1e-12)
    assert got == pytest.approx(binary_auroc(margin.double().sigmoid(), target).item(), abs=1e-6)


@given(st.integers(0, 10**6), SIZES, st.integers(1, CLASSES), st.booleans())
def test_auroc_of_several_classes_is_the_mean_of_one_against_the_rest(seed, sizes, present, tied):
    logits, target = classified(seed, sizes, present)
    logits = logits.round() if tied else logits
    got = in_batches(AUROC, logits, target, sizes)
    p = logits.double().softmax(1)
    mixed = [c for c in range(CLASSES) if 0 < (target == c).sum() < len(target)]
    if not mixed:
        assert math.isnan(got)
        return
    expected = np.mean([judge.roc_auc_score(target == c, p[:, c]) for c in mixed])
    assert got == pytest.approx(expected, abs=1e-12)
    if len(mixed) == CLASSES:
        assert got == pytest.approx(judge.roc_auc_score(target, p, multi_class="ovr"), abs=1e-12)
        assert got == pytest.approx(multiclass_auroc(p, target, CLASSES).item(), abs=1e-6)


def test_auroc_of_a_guess_is_a_half_and_does_not_see_a_monotone_change():
    logits, target = classified(3, [60])
    assert whole(AUROC, torch.zeros(60, CLASSES), target) == 0.5
    two, second = logits[:, :2], target % 2
    metric = class_metrics(2)["auroc"]
    assert whole(metric, 3 * two, second) == whole(metric, two, second) != 0.5


@given(st.integers(0, 10**6), st.integers(2, 70), st.integers(2, 12))
def test_equal_outputs_tie_wherever_they_stand_in_a_batch(seed, count, classes):
    row = torch.randn(classes, generator=torch.Generator().manual_seed(seed))
    assert whole(class_metrics(classes)["auroc"], row.expand(count, -1), torch.arange(count) % classes) == 0.5


def test_auroc_orders_scores_that_single_precision_would_tie():
    margin = torch.tensor([20.0, 21.0, 22.0, 23.0])  # sigmoids that are all 1 in float32
    logits = torch.stack([torch.zeros(4), margin], 1)
    assert whole(class_metrics(2)["auroc"], logits, torch.tensor([0, 0, 1, 1])) == 1


@given(st.integers(0, 10**6), SIZES)
def test_expected_calibration_error_over_ragged_batches_is_that_of_torchmetrics(seed, sizes):
    logits, target = classified(seed, sizes)
    got = in_batches(ECE, logits, target, sizes)
    expected = multiclass_calibration_error(logits.double().softmax(1), target, CLASSES, n_bins=15, norm="l1")
    assert got == pytest.approx(expected.item(), abs=1e-6)


def test_outputs_that_are_not_numbers_make_no_metric_fail():
    logits, target = torch.full((4, CLASSES), torch.nan), torch.arange(4)
    for metric in class_metrics(CLASSES).values():
        whole(metric, logits, target)
    assert math.isnan(whole(ECE, logits, target))


def test_metrics_of_classes_share_what_they_are_made_of():
    assert len({m.sums for m in class_metrics(CLASSES).values()}) == 2
    seen = viewed(class_metrics(CLASSES), lambda output: -output)
    assert len({m.sums for m in seen.values()}) == 2


def test_a_viewed_metric_is_that_of_the_view():
    logits, target = classified(0, [30])
    for name, metric in viewed(class_metrics(CLASSES), lambda output: output.flip(1)).items():
        assert whole(metric, logits, target) == whole(class_metrics(CLASSES)[name], logits.flip(1), target)


# Of numbers.


@given(st.integers(0, 10**6), SIZES)
def test_mae_over_ragged_batches_is_that_of_torchmetrics_and_scikit_learn(seed, sizes):
    output, target = measured(seed, sizes)
    got = in_batches(mae(), output, target, sizes)
    assert got == pytest.approx(judge.mean_absolute_error(target.double(), output.double()), rel=1e-12)
    assert got == pytest.approx(mean_absolute_error(output, target).item(), rel=1e-5)
    assert whole(mae(2.5), output, target) == pytest.approx(2.5 * got)


@given(st.integers(0, 10**6), SIZES)
def test_deviance_over_ragged_batches_is_that_of_scikit_learn(seed, sizes):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(sum(sizes), generator=generator)
    counts = torch.poisson(z.exp() + 0.5, generator=generator)
    got = in_batches(deviance(), z, counts, sizes)
    assert got == pytest.approx(judge.mean_poisson_deviance(counts.double(), z.double().exp()), rel=1e-9)


def test_deviance_of_counts_in_other_units_is_told_in_counts():
    z, counts = torch.randn(30), torch.poisson(torch.full((30,), 4.0))
    scaled = whole(deviance(4.0), z - math.log(4), counts / 4)
    assert scaled == pytest.approx(whole(deviance(), z, counts), rel=1e-5)


def test_errors_are_summed_once_for_all_their_metrics():
    assert rmse().sums is mae(3.0).sums is r2().sums


def test_totals_are_added_unless_a_metric_says_otherwise():
    assert Metric(r2().sums, r2().value, True).merge is torch.add
