"""Optimisers, and clipping of what they are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.series import Series


@dataclass(kw_only=True)
class OptimizerRecord:
    """An optimiser that has stepped."""

    number: int
    kind: str
    site: Site | None
    steps: int = 0
    first_step: int = 0
    """The global step of its first one."""
    rate: Series = field(default_factory=Series)
    """The largest learning rate of its groups."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of its first group: momentum, betas, weight_decay, …"""
    closure: bool = False
    parameters: list[str] = field(default_factory=list)
    stale: int = 0
    """Steps, of those checked, since whose predecessor no backward pass began with clear gradients."""
    discarded: int = 0
    """Backward passes, of those that could be checked, whose gradients were cleared before any step of it, though its
    steps are made of the same loss."""
    joined: int = 0
    """Steps with gradients of two losses, between which another optimiser had stepped."""
    checked: int = 0
    empty: int = 0
    """Steps, of those checked, at which all gradients were None or zero."""
    empty_though_backward: int = 0
    """Those of them before which a backward pass had reached its parameters since the step before."""
    none_though_backward: int = 0
    """Those of them at which there was no gradient, or one that had been cleared since."""
    backwards: Series = field(default_factory=Series)
    """Backward passes whose gradients were summed for a step."""
    gradient: Series = field(default_factory=Series)
    """Global norm of the gradient it was given."""
    uphill: Series = field(default_factory=Series)
    """The cosine between a step and the gradient it was made of: below zero downhill."""
    leftover: Series = field(default_factory=Series)
    """Global norm of what was already in the gradients when the backward pass began."""
    decay: Series = field(default_factory=Series)
    """Norm of the weight decay's part of a step, divided by that of the rest."""


@dataclass(kw_only=True)
class Clipping:
    """Calls of clip_grad_norm_ (or clip_grad_value_) at one line."""

    site: Site | None
    limit: float
    by_value: bool = False
    count: int = 0
    bound: int = 0
    """How often the norm was above the limit."""
    norm: Series = field(default_factory=Series)
