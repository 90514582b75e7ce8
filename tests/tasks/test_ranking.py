"""Thresholds of a classifier, beside scikit-learn's."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as judge

from gradlab.data import Targets
from gradlab.tasks.metrics import class_metrics
from gradlab.tasks.ranking import Ranking, positive_class, rankings

SEED, COUNT, LEVELS = st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 12)


def scored(seed, count, levels):
    """Scores with ties, and at least one of either kind."""
    draw = np.random.default_rng(seed)
    members = np.append(draw.random(count - 2) < 0.3, [True, False])
    return draw.integers(levels, size=count) / levels, members


@given(SEED, COUNT, LEVELS)
def test_curves_and_areas_are_those_of_scikit_learn(seed, count, levels):
    scores, members = scored(seed, count, levels)
    ranking = Ranking.of(scores, members)
    false, true, thresholds = judge.roc_curve(members, scores, drop_intermediate=False)
    np.testing.assert_allclose(ranking.false_alarms, false[1:], rtol=1e-12)
    np.testing.assert_allclose(ranking.recall, true[1:], rtol=1e-12)
    np.testing.assert_array_equal(ranking.threshold, thresholds[1:])
    precision, recall, _ = judge.precision_recall_curve(members, scores)
    np.testing.assert_allclose(ranking.precision, precision[-2::-1], rtol=1e-12)
    np.testing.assert_allclose(ranking.recall, recall[-2::-1], rtol=1e-12)
    assert ranking.auroc == pytest.approx(judge.roc_auc_score(members, scores), abs=1e-12)
    assert ranking.average_precision == pytest.approx(judge.average_precision_score(members, scores), abs=1e-12)


@given(SEED, COUNT, LEVELS, st.floats(0, 1))
def test_an_outcome_is_that_of_the_predictions_at_its_threshold(seed, count, levels, threshold):
    scores, members = scored(seed, count, levels)
    ranking = Ranking.of(scores, members)
    for outcome in (ranking.at(threshold), ranking.best):
        said = scores >= outcome.threshold
        assert outcome.recall == pytest.approx(judge.recall_score(members, said))
        assert outcome.f1 == pytest.approx(judge.f1_score(members, said))
        assert outcome.false_alarms == pytest.approx(said[~members].mean())
        if said.any():
            assert outcome.precision == pytest.approx(judge.precision_score(members, said))
        else:
            assert math.isnan(outcome.precision)
    assert ranking.best.f1 >= ranking.at(threshold).f1


def test_no_example_reaches_a_threshold_above_all_scores():
    ranking = Ranking.of(np.array([0.2, 0.7]), np.array([False, True]))
    assert (ranking.at(0.8).recall, ranking.at(0.8).f1) == (0, 0)
    assert math.isnan(ranking.at(0.8).precision)
    assert ranking.at(0.7).recall == 1


@given(SEED, COUNT)
def test_the_area_of_either_class_is_the_metric(seed, count):
    logits = torch.randn(count, 2, generator=torch.Generator().manual_seed(seed)).round(decimals=1)
    target = torch.cat([torch.tensor([0, 1]), torch.arange(count - 2) % 2])
    metric = class_metrics(2)["auroc"]
    for counts in ([1, 2], [2, 1]):
        found = rankings(
            logits.double().softmax(1).numpy(), target.numpy(), Targets(classes=["no", "yes"], counts=counts)
        )
        assert list(found) == ["no" if counts[0] < counts[1] else "yes"]
        assert next(iter(found.values())).auroc == pytest.approx(metric.value(metric.sums(logits, target)), abs=1e-12)


@pytest.mark.parametrize(("counts", "positive"), [([9, 3], 1), ([3, 9], 0), ([5, 5], 1), ([], 1)])
def test_the_positive_class_is_the_rarer(counts, positive):
    assert positive_class(Targets(classes=["a", "b"], counts=counts)) == positive


def test_of_several_classes_those_that_occur_are_ranked(rng):
    probabilities, actual = rng.dirichlet(np.ones(4), size=30), rng.integers(3, size=30)
    found = rankings(probabilities, actual, Targets(classes=list("abcd"), counts=[1, 2, 3, 4]))
    assert list(found) == ["a", "b", "c"]
    for c, ranking in enumerate(found.values()):
        assert ranking.auroc == pytest.approx(judge.roc_auc_score(actual == c, probabilities[:, c]))
