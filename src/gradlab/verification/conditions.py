"""Under which conditions a user's module is compared with its twin again, beside the plain one."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """What is different about a case."""

    name: str = ""
    numbers: Sequence[float] = ()
    """Some entries of every input are among these."""

    strided: bool = False
    """Inputs lie in memory with gaps between their entries."""

    empty: bool = False
    """Inputs have no examples."""

    training: bool | None = None
    """Every call is in this mode."""

    again: bool = False
    """Other inputs were given to it before."""


PLAIN = Condition()
CONDITIONS = (
    Condition("with zeros", numbers=(0.0,)),
    Condition("with ±1,000", numbers=(1000.0, -1000.0)),
    Condition("not contiguous", strided=True),
    Condition("in training", training=True),
    Condition("at test time", training=False),
    Condition("called again", again=True),
    Condition("no examples", empty=True),
)
