"""After how many steps a series repeats itself: by the calendar, or by what it resembles most."""

from collections.abc import Sequence

import numpy as np

from gradlab.data.series.panel import Numbers
from gradlab.data.series.spacing import Spacing

_LEAST = 2  # seasons that must be seen
_LIKE = 0.1  # correlation of changes a season apart,
_CHANCE = 4.0  # and in standard deviations of what chance gives


def season_of(spacing: Spacing, training: Sequence[Numbers]) -> tuple[int, str]:
    """The season in steps, and where it is from: 1 where nothing repeats."""
    longest = max(len(values) for values in training)
    calendar = _by_calendar(spacing)
    if calendar and _LEAST * calendar <= longest:
        return calendar, "by the calendar"
    period = _by_likeness(training)
    return period, "by autocorrelation" if period > 1 else "nothing repeats"


def _by_calendar(spacing: Spacing) -> int:
    """Steps of a day, of a week in days, of a year in weeks, months or quarters; 0 where none of these fits."""
    if spacing.unit == "month":
        return round(12 / spacing.size) if 12 % spacing.size == 0 else 0
    if spacing.unit == "number":
        return 0
    if spacing.size in (1.0, 7.0):
        return 7 if spacing.size == 1.0 else 52
    per_day = round(spacing.per_day)
    return per_day if per_day > 1 and abs(per_day - spacing.per_day) < 1e-6 * per_day else 0


def _by_likeness(training: Sequence[Numbers]) -> int:
    """The first lag at which changes are nearly as alike as they ever are again, if that is no chance.

    Changes, since values that drift are alike at every short lag.
    """
    most = min(len(values) for values in training) // _LEAST
    if most < 4:
        return 1
    correlations = np.mean([_autocorrelation(np.diff(values), most) for values in training], axis=0)
    count = sum(len(values) for values in training)
    peaks = [i for i in range(2, most - 1) if correlations[i - 1] < correlations[i] >= correlations[i + 1]]
    best = max((correlations[i] for i in peaks), default=0.0)
    if best < max(_LIKE, _CHANCE / np.sqrt(count)):
        return 1
    return next(i for i in peaks if correlations[i] >= 0.9 * best)


def _autocorrelation(values: Numbers, most: int) -> Numbers:
    """At the lags from 0 to `most`."""
    centred = values - values.mean()
    power = np.abs(np.fft.rfft(centred, 2 * len(values))) ** 2
    products: Numbers = np.fft.irfft(power)[: most + 1]
    return products / products[0] if products[0] > 0 else np.zeros(most + 1)
