"""What a running training can be asked to do: it does so between two steps."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gradlab.errors import GradlabError, unknown

What = Literal["stop", "evaluate", "save", "lr", "checkpoint"]


@dataclass(frozen=True)
class Request:
    """Stop and be saved, evaluate now, save now, or go on with another learning rate.

    A `checkpoint` is a save that the clock asks for: it leaves no line, since a run must read the same whenever one was
    taken.

    >>> Request("lr", 1e-3)
    Request(what='lr', value=0.001)
    """

    what: What
    value: float | None = None

    def __post_init__(self) -> None:
        if self.what not in get_args(What):
            raise unknown("request", self.what, get_args(What))
        if (self.what == "lr") != (self.value is not None):
            raise GradlabError("A request for a learning rate has a value, and no other has: request('lr', 1e-3).")
        if self.value is not None:
            object.__setattr__(self, "value", _rate(self.value))


def _rate(value: Any) -> float:
    """A learning rate as a plain number, whatever kind of number it was."""
    try:
        rate = float(value)
    except (TypeError, ValueError):
        rate = math.nan
    if not 0 < rate < math.inf:
        raise GradlabError(f"A learning rate must be a positive number, got {value!r}.")
    return rate
