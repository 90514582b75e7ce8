from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradlab.data.moments import Moments

VALUES = st.floats(-1e6, 1e6, width=32)
TABLES = hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=VALUES)


def gathered(values, cuts=(), weights=None):
    """What is seen of the values, cut at these rows."""
    seen = Moments()
    ends = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    for start, end in pairwise(ends):
        seen.add(values[start:end], None if weights is None else weights[start:end])
    return seen


def check(seen, values):
    """Against NumPy on all of it at once, NaN aside."""
    spread = np.abs(np.nan_to_num(values)).max() + 1
    np.testing.assert_allclose(seen.mean, np.nanmean(values, axis=0), atol=1e-12 * spread)
    np.testing.assert_allclose(seen.std, np.nanstd(values, axis=0), atol=1e-7 * spread)
    assert np.array_equal(seen.low, np.nanmin(values, axis=0))
    assert np.array_equal(seen.high, np.nanmax(values, axis=0))
    assert np.array_equal(seen.gaps, np.isnan(values).sum(axis=0))


@given(TABLES, st.lists(st.integers(0, 30), max_size=4))
def test_any_cutting_gives_the_figures_of_numpy_on_the_whole(values, cuts):
    check(gathered(values, cuts), values)


@given(TABLES, st.lists(st.integers(0, 30), max_size=4), st.data())
def test_what_is_missing_is_passed_over_and_counted(values, cuts, data):
    holes = data.draw(hnp.arrays(bool, values.shape))
    holes[data.draw(st.integers(0, len(values) - 1))] = False  # each column has a value
    check(gathered(np.where(holes, np.nan, values), cuts), np.where(holes, np.nan, values))


@given(TABLES, st.lists(st.integers(0, 30), max_size=3), st.data())
def test_a_weight_is_so_many_repetitions(values, cuts, data):
    weights = data.draw(hnp.arrays(np.float64, len(values), elements=st.integers(0, 4)))
    weights[0] = 2
    holes = data.draw(hnp.arrays(bool, values.shape))
    holes[0] = False
    values = np.where(holes, np.nan, values)
    seen, repeated = gathered(values, cuts, weights), np.repeat(values, weights.astype(int), axis=0)
    spread = np.abs(np.nan_to_num(values)).max() + 1
    np.testing.assert_allclose(seen.mean, np.nanmean(repeated, axis=0), atol=1e-12 * spread)
    np.testing.assert_allclose(seen.std, np.nanstd(repeated, axis=0), atol=1e-7 * spread)
    assert np.array_equal(seen.low, np.nanmin(repeated, axis=0))
    assert np.array_equal(seen.high, np.nanmax(repeated, axis=0))


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float16, np.float32, np.float64, bool])
@pytest.mark.parametrize("weighted", [False, True])
def test_images_have_figures_for_each_channel(rng, kind, weighted):
    images = rng.integers(0, 2 if kind is bool else 100, (20, 3, 4, 5)).astype(kind)
    seen = gathered(images, [7], np.ones(20) if weighted else None)
    flat = images.transpose(0, 2, 3, 1).reshape(-1, 3).astype(float)
    np.testing.assert_allclose(seen.mean, flat.mean(0))
    np.testing.assert_allclose(seen.std, flat.std(0))
    assert np.array_equal(seen.low, flat.min(0))
    assert np.array_equal(seen.high, flat.max(0))


def test_a_column_far_from_zero_keeps_its_spread(rng):
    values = 1e9 + rng.normal(size=(5000, 1))
    np.testing.assert_allclose(gathered(values, range(0, 5000, 100)).std, values.std(0), rtol=1e-6)


def test_a_column_without_a_value_has_no_ends_and_makes_no_noise():
    seen = gathered(np.array([[np.nan, 1.0], [np.nan, 3.0]]), [1])
    assert seen.mean.tolist() == [0, 2]
    assert seen.std.tolist() == [0, 1]
    assert np.isnan(seen.low).tolist() == np.isnan(seen.high).tolist() == [True, False]
    assert seen.gaps.tolist() == [2, 0]


def test_what_is_empty_adds_nothing():
    seen = gathered(np.array([[1.0], [2.0]]))
    seen.add(np.zeros((0, 1)))
    seen.add(np.array([[9.0]]), np.zeros(1))
    assert (seen.mean.tolist(), seen.high.tolist()) == ([1.5], [2.0])
