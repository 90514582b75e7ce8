"""Rules, one file for each kind of fault. Each rests on what was measured, never on names or source text."""

from gradlab.diagnosis.rules import (
    actions,
    affine,
    bootstraps,
    brakes,
    classes,
    clearing,
    generative,
    growth,
    inputs,
    labels,
    leakage,
    loading,
    losses,
    modes,
    outcomes,
    policies,
    probed,
    rates,
    signals,
    starts,
    wiring,
)
from gradlab.diagnosis.rules.base import for_script, judge, rules

FILES = (
    *(actions, affine, bootstraps, brakes, classes, clearing, generative, growth, inputs),
    *(labels, leakage, loading, losses, modes, outcomes, policies, probed, rates, signals, starts, wiring),
)

__all__ = ["FILES", "for_script", "judge", "rules"]
