import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.tasks import Reliability


@given(st.integers(0, 10**6), st.integers(1, 200))
def test_bins_hold_every_example_once_with_its_probability(seed, count):
    rng = np.random.default_rng(seed)
    confidence, right = rng.uniform(1e-9, 1, count), rng.uniform(size=count) < 0.5
    bins = Reliability.of(confidence, right)
    assert bins.count.sum() == count
    assert bins.right.sum() == right.sum()
    assert bins.confident.sum() == pytest.approx(confidence.sum())
    for m in range(15):
        inside = (confidence > m / 15) & (confidence <= (m + 1) / 15)
        assert bins.count[m] == inside.sum()
        assert bins.right[m] == right[inside].sum()


def test_the_error_is_the_equation():
    rng = np.random.default_rng(0)
    confidence, right = rng.uniform(size=500), rng.uniform(size=500) < 0.7
    bins = Reliability.of(confidence, right)
    expected = 0.0
    for m in range(15):
        inside = (confidence > m / 15) & (confidence <= (m + 1) / 15)
        expected += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert bins.ece == pytest.approx(expected, rel=1e-12)


def test_a_model_that_is_as_sure_as_it_is_right_has_no_error():
    confidence = np.array([0.75] * 4 + [1.0] * 3)
    assert Reliability.of(confidence, np.array([True, True, True, False, True, True, True])).ece == pytest.approx(0)
    assert Reliability.of(confidence, np.zeros(7, dtype=bool)).ece == pytest.approx(confidence.mean())


def test_certainty_is_in_the_last_bin_and_an_edge_below_it():
    bins = Reliability.of(np.array([1.0, 14 / 15, 0.2]), np.ones(3, dtype=bool))
    assert np.flatnonzero(bins.count).tolist() == [2, 13, 14]


def test_logits_are_taken_at_a_temperature():
    logits, target = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.tensor([1, 1])
    bins = Reliability.of_logits(logits, target, temperature=2.0)
    probabilities = (logits.double() / 2).softmax(1).amax(1)
    assert bins.confident.sum() == pytest.approx(probabilities.sum().item())
    assert bins.right.sum() == 1
