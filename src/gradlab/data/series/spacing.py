"""How far the times of a series lie apart: a number, a time span, or calendar months."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.tables.columns import ISO

Times = npt.NDArray[np.float64]

_SPANS = {"week": 7.0, "day": 1.0, "hour": 1 / 24, "minute": 1 / 1440, "second": 1 / 86_400}
_MONTH, _YEAR = 28, 366  # days that times in steps of whole months lie apart
ON_GRID = 0.01  # steps: what a time may be off by, since days are floats


@dataclass(frozen=True, kw_only=True)
class Spacing:
    """An even grid of times: of the time t the *position* is how many steps it lies after the origin.

    Times are numbers, or days since 1970 of which `form` is how they are written. In months, each time is the same
    `day` of its month, or the last one of a month that is shorter.

    >>> monthly = Spacing(unit="month", size=1, origin=12.0, day=31, form="%d.%m.%Y")
    >>> [monthly.at(position) for position in range(3)]
    ['31.01.1971', '28.02.1971', '31.03.1971']
    """

    unit: Literal["number", "day", "month"]
    size: float
    origin: float
    day: int = 1
    form: str = ""

    @classmethod
    def of(cls, times: Sequence[Times], form: str) -> "Spacing | None":
        """That of most neighbouring times; None where no time is later than the one before it."""
        together = np.concatenate(times)
        size = _commonest([np.diff(each) for each in times])
        if size is None:
            return None
        if not form:
            return cls(unit="number", size=size, origin=float(together.min()))
        months = _in_months(together)
        uneven = any((np.diff(each) != size).any() for each in times)
        if _MONTH <= size <= _YEAR and uneven and months is not None:
            step = _commonest([np.diff(_months(each)) for each in times])
            assert step is not None
            return cls(unit="month", size=step, origin=float(_months(together).min()), day=months, form=form)
        size = round(size * 86_400_000) / 86_400_000  # whole milliseconds
        return cls(unit="day", size=size, origin=float(together.min()), form=form)

    def positions(self, times: Times) -> Times:
        """Whole numbers where times are on the grid."""
        if self.unit == "month":
            off = np.where(times == _day_of(_months(times), self.day), 0.0, 0.5)
            return (_months(times) - self.origin) / self.size + off
        return (times - self.origin) / self.size

    def times(self, positions: Times) -> Times:
        along = self.origin + self.size * positions
        return _day_of(along, self.day) if self.unit == "month" else along

    def at(self, position: int) -> str:
        """The time of a position, as the user's file has it."""
        time = float(self.times(np.array([position], dtype=np.float64))[0])
        if not self.form:
            return f"{time:.12g}"
        moment = datetime(1970, 1, 1) + timedelta(milliseconds=round(time * 86_400_000))
        if self.form != ISO:
            return moment.strftime(self.form)
        within = self.unit == "day" and (self.size % 1 or self.origin % 1)
        return moment.isoformat(" ", "auto" if moment.second else "minutes") if within else f"{moment:%Y-%m-%d}"

    @property
    def per_day(self) -> float:
        """Steps of a day; 0 where times are no dates."""
        return {"number": 0.0, "day": 1 / self.size, "month": 12 / 365.25 / self.size}[self.unit]

    def __str__(self) -> str:
        if self.unit != "day":
            return f"{self.size:g}" if self.unit == "number" else _counted(self.size, "month")
        unit, span = next((u, s) for u, s in _SPANS.items() if self.size >= s * (1 - 1e-9) or u == "second")
        return _counted(self.size / span, unit)


def _counted(count: float, noun: str) -> str:
    return f"{count:.6g} {noun}{'' if round(count, 6) == 1 else 's'}"


def _commonest(steps: Sequence[Times]) -> float | None:
    """The step that occurs most often, of those forward in time."""
    forward = np.concatenate([step[step > 0] for step in steps])
    if not len(forward):
        return None
    # Times are floats, whose differences differ in their last digits.
    rounded = np.round(forward / np.median(forward), 6)
    sizes, counts = np.unique(rounded, return_counts=True)
    return float(np.median(forward[rounded == sizes[counts.argmax()]]))


def _months(days: Times) -> Times:
    """Months since 1970."""
    months: Times = np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.float64)
    return months


def _day_of(months: Times, day: int) -> Times:
    """The day of each month, or its last."""
    first = np.round(months).astype(np.int64).astype("datetime64[M]")
    begin, end = (m.astype("datetime64[D]").astype(np.float64) for m in (first, first + 1))
    return np.minimum(begin + day - 1, end - 1)


def _in_months(days: Times) -> int | None:
    """The day of the month that all times have, or the last of one that is shorter."""
    day = int((days - _day_of(_months(days), 1)).max()) + 1
    return day if (days == _day_of(_months(days), day)).all() else None
