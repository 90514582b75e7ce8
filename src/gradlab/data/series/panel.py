"""Several series over the same grid of times, as they are in the world."""

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.series.spacing import Spacing

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeSeries:
    """Numbers at neighbouring positions of the grid.

    `covariates` has a column for each, those of the past alone first; it may go on where the values end, for times of
    which only what is known in advance is there.
    """

    name: str
    start: int
    values: Numbers
    covariates: Numbers
    source: str = ""
    """Where it was read, in words."""

    @property
    def end(self) -> int:
        """The position after its last value."""
        return self.start + len(self.values)

    @property
    def place(self) -> str:
        """What a message calls it."""
        return f"{self.source}: " * bool(self.source) + (f"series {self.name!r}" if self.name else "the series")


def cut(one: TimeSeries, steps: int) -> TimeSeries:
    """The same as it was so many steps earlier; what is known in advance stays known."""
    return replace(one, values=one.values[:-steps])


@dataclass(frozen=True, kw_only=True)
class Panel:
    """All series of a source, and what is known of them."""

    series: list[TimeSeries]
    spacing: Spacing
    past: list[str] = field(default_factory=list)
    """Covariates that are not known in advance."""
    known: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reader: Any = None

    @property
    def rows(self) -> int:
        return sum(len(one.values) for one in self.series)

    def fingerprint(self) -> str:
        """SHA-256 over every value and where it stands."""
        digest = hashlib.sha256(str((asdict(self.spacing), self.past, self.known)).encode())
        for one in self.series:
            digest.update(str((one.name, one.start, one.covariates.shape)).encode())
            digest.update(np.ascontiguousarray(one.values).data)
            digest.update(np.ascontiguousarray(one.covariates).data)
        return digest.hexdigest()
