"""Parts of dates, as a model sees them: which day of the week, which month, when in the year, when in the day."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _weekday(days: Array) -> Array:
    return np.eye(7)[(np.floor(days).astype(np.int64) + 3) % 7]  # Monday first; 1970 began with a Thursday


def _month(days: Array) -> Array:
    return np.eye(12)[np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12]


def _day_of_year(days: Array) -> Array:
    date = np.floor(days).astype("datetime64[D]")
    return _circle((date - date.astype("datetime64[Y]")).astype(np.int64) / 365.25)


def _hour(days: Array) -> Array:
    return _circle(days % 1.0)


def _circle(turns: Array) -> Array:
    """A point on the circle, so that the end of a year, or of a day, is near its beginning."""
    return np.stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)], axis=-1)


_PARTS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "weekday": (_weekday, 7),
    "month": (_month, 12),
    "day of year": (_day_of_year, 2),
    "hour": (_hour, 2),
}


def parts_of(with_time: bool) -> list[str]:
    """The parts of dates that have a time of day, or none."""
    return [name for name in _PARTS if with_time or name != "hour"]


def width(parts: list[str]) -> int:
    return sum(_PARTS[part][1] for part in parts)


def date_parts(days: Array, parts: list[str]) -> Array:
    """Days since 1970 as columns for each part; a date that is missing has zeros.

    >>> date_parts(np.array([0.0, 31.5, np.nan]), ["weekday", "hour"]).round(1).tolist()[1:]
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    known = ~np.isnan(days)
    columns = np.zeros((len(days), width(parts)))
    columns[known] = np.concatenate([_PARTS[part][0](days[known]) for part in parts], axis=1)
    return columns
