"""A number over the steps of a training, in bounded memory."""

import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

_MOST = 4096


class Series:
    """Values at steps; once there are too many, every second one is forgotten, and further ones come half as often.

    >>> losses = Series()
    >>> for step in range(10):
    ...     losses.add(step, 1 / (step + 1))
    >>> len(losses), losses.last, losses.median(0, 3)
    (10, 0.1, 0.5)
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self.every, self.offered = 1, 0  # one value in so many is kept; how many there were

    def add(self, step: int, value: float) -> None:
        if self.offered % self.every == 0:
            self.steps.append(step)
            self.values.append(value)
            if len(self.values) >= _MOST:
                self.steps, self.values, self.every = self.steps[::2], self.values[::2], self.every * 2
        self.offered += 1

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self.steps, self.values, strict=True)

    @property
    def first(self) -> float:
        return self.values[0] if self.values else math.nan

    @property
    def last(self) -> float:
        return self.values[-1] if self.values else math.nan

    @property
    def largest(self) -> float:
        return max(self.finite(), default=math.nan)

    @property
    def smallest(self) -> float:
        return min(self.finite(), default=math.nan)

    def finite(self) -> list[float]:
        return [v for v in self.values if math.isfinite(v)]

    def median(self, start: int | None = None, stop: int | None = None) -> float:
        """Of the values in a slice of the list; those that are not finite do not count."""
        return median(self.values[start:stop])

    def near(self, step: int) -> float:
        """The median of the five values around a step."""
        place = bisect_left(self.steps, step)
        return self.median(max(0, place - 3), place + 2)

    def head(self, count: int = 5) -> float:
        """The median of the first few."""
        return self.median(0, count)

    def tail(self, share: float = 0.1) -> float:
        """The median of the last part, of at least three values."""
        return self.median(-max(3, round(share * len(self.values))), None)

    def since(self, crossed: "float", above: bool = True) -> int:
        """The first step at which a value was above (or below) a threshold; -1 if none was."""
        return next((s for s, v in self if (v > crossed) == above and v != crossed), -1)

    def falls(self) -> float:
        """The share of neighbouring pairs in which the later value is the smaller one."""
        pairs = [b < a for a, b in pairwise(self.finite())]
        return sum(pairs) / len(pairs) if pairs else 0.0

    def thinned(self, most: int) -> tuple[list[int], list[float]]:
        """At most so many points, for drawing: the middle one of each of equal parts."""
        count = len(self.values)
        if count <= most:
            return list(self.steps), list(self.values)
        chosen = [round((i + 0.5) * count / most - 0.5) for i in range(most)]
        return [self.steps[i] for i in chosen], [self.values[i] for i in chosen]


def median(values: list[float]) -> float:
    """Of those that are finite; NaN of nothing."""
    finite = sorted(v for v in values if math.isfinite(v))
    return finite[len(finite) // 2] if finite else math.nan
