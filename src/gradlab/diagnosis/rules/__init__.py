"""Rules, one file for each kind of fault. Each rests on what was measured, never on names or source text."""

from gradlab.diagnosis.rules import (
    affine,
    brakes,
    clearing,
    data,
    generative,
    growth,
    losses,
    modes,
    outcomes,
    probed,
    rates,
    signals,
    starts,
    wiring,
)
from gradlab.diagnosis.rules.base import judge, rules

__all__ = [
    "affine",
    "brakes",
    "clearing",
    "data",
    "generative",
    "growth",
    "judge",
    "losses",
    "modes",
    "outcomes",
    "probed",
    "rates",
    "rules",
    "signals",
    "starts",
    "wiring",
]
