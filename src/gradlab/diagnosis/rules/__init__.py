"""Rules, one file for each kind of fault. Each rests on what was measured, never on names or source text."""

from gradlab.diagnosis.rules import (
    actions,
    affine,
    axes,
    bootstraps,
    brakes,
    classes,
    clearing,
    directions,
    generative,
    growth,
    inputs,
    labels,
    leakage,
    loading,
    losses,
    masks,
    modes,
    outcomes,
    policies,
    probed,
    ranges,
    rates,
    signals,
    standing,
    starts,
    targets,
    wiring,
)
from gradlab.diagnosis.rules.base import for_script, judge, rules

FILES = (
    *(actions, affine, axes, bootstraps, brakes, classes, clearing, directions, generative, growth, inputs),
    *(
        labels,
        leakage,
        loading,
        losses,
        masks,
        modes,
        outcomes,
        policies,
        probed,
        ranges,
        rates,
        signals,
        standing,
        starts,
        targets,
        wiring,
    ),
)

__all__ = ["FILES", "for_script", "judge", "rules"]
