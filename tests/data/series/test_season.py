"""After how many steps a series repeats itself."""

import numpy as np
import pytest

from gradlab.data.series.season import season_of
from gradlab.data.series.spacing import Spacing
from gradlab.data.tables.columns import ISO

NUMBERS = Spacing(unit="number", size=1.0, origin=0.0)


def dated(size, unit="day"):
    return Spacing(unit=unit, size=size, origin=0.0, form=ISO)


@pytest.mark.parametrize(
    ("spacing", "season"),
    [
        (dated(1.0), 7),
        (dated(7.0), 52),
        (dated(1 / 24), 24),
        (dated(1 / 96), 96),
        (dated(1.0, "month"), 12),
        (dated(3.0, "month"), 4),
    ],
)
def test_the_calendar_says_it(spacing, season, rng):
    assert season_of(spacing, [rng.normal(size=300)]) == (season, "by the calendar")


def test_a_season_that_was_not_seen_twice_is_none(rng):
    assert season_of(dated(7.0), [rng.normal(size=60)])[0] == 1


@pytest.mark.parametrize("period", [5, 12, 24, 50])
def test_likeness_says_it_where_the_calendar_does_not(period, rng):
    shape = rng.normal(size=period)
    values = [np.resize(shape, 400) + 0.3 * rng.normal(size=400) + 0.01 * np.arange(400) for _ in range(2)]
    assert season_of(NUMBERS, values) == (period, "by autocorrelation")


@pytest.mark.parametrize("seed", range(10))
def test_a_random_walk_has_none(seed):
    walk = np.cumsum(np.random.default_rng(seed).normal(size=500))
    assert season_of(NUMBERS, [walk]) == (1, "nothing repeats")
    assert season_of(NUMBERS, [np.zeros(500)])[0] == 1
