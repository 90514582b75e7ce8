"""A whole training, as it was seen: plain data that rules read. Nothing in here judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gradlab.diagnosis.record.answers import Classes, Leak
from gradlab.diagnosis.record.capture import Capture
from gradlab.diagnosis.record.loss import Loss, LossCall
from gradlab.diagnosis.record.model import Activation, Module, Parameter, Root
from gradlab.diagnosis.record.optimizer import Clipping, OptimizerRecord
from gradlab.diagnosis.record.probed import Probed
from gradlab.diagnosis.record.reinforced import Bootstrap, Policy
from gradlab.diagnosis.record.shared import Shared
from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.series import Series


@dataclass(kw_only=True)
class NotFinite:
    """The first NaN or infinity."""

    step: int
    what: str
    """loss, gradient, parameter, input"""
    where: str = ""
    operation: str = ""
    """As autograd names it, without `Backward0`."""
    module: str = ""
    detail: str = ""


@dataclass(kw_only=True)
class Record:
    """A training as it was seen."""

    steps: int = 0
    """Optimiser steps, of all optimisers; where there is none, updates by hand."""
    looks: list[int] = field(default_factory=list)
    """The steps that were looked at closely."""
    seconds: float = 0.0
    own_seconds: float = 0.0
    """What watching took."""
    logged: bool = False
    """Whether it comes from the lines of a log: each value of the loss is then a mean over many steps."""
    has_floor: bool = True
    """Whether a perfect model would have a loss of 0; only then does a share of the loss say what is left to learn."""
    hand_checked: int = 0
    """Updates by hand, and those after which the next backward pass found the old gradients still there."""
    hand_stale: int = 0
    hand_uphill: Series = field(default_factory=Series)
    """The cosine between an update by hand and the gradient it was made of: below zero downhill."""
    hand_gradient: Series = field(default_factory=Series)
    """The norm of all gradients after a backward pass, as long as no optimiser of torch's has stepped."""
    losses: list[Loss] = field(default_factory=list)
    loss_calls: list[LossCall] = field(default_factory=list)
    readings: dict[Site, Series] = field(default_factory=dict)
    """Numbers that the script took out of tensors after a root had run with gradients off: figures of evaluations."""
    figures: int = 0
    """How many numbers that was."""
    optimizers: list[OptimizerRecord] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    activations: list[Activation] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    clippings: list[Clipping] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    not_finite: NotFinite | None = None
    shared: list[Shared] = field(default_factory=list)
    """For each root that was given data: the rows it was judged on, and those of them that were trained on."""
    leaks: list[Leak] = field(default_factory=list)
    """Of a table: columns that give the answer away, as far as the training examples tell."""
    classes: Classes | None = None
    """How each class of the validation split is recognised, where that was looked at."""
    waited: Series = field(default_factory=Series)
    """Seconds between a step and the next root's call, without evaluation."""
    worked: Series = field(default_factory=Series)
    """Seconds from that call to the end of its step."""
    held: Series = field(default_factory=Series)
    """The share of earlier looks whose activations are still in memory: of a graph that nobody holds, none are."""
    held_graphs: Series = field(default_factory=Series)
    """The same of graphs, also those that a backward pass has gone through."""
    loader_seconds: float = 0.0
    """In DataLoader's __next__, while training."""
    first_batches: int = 0
    """Batches that were the first ones of a pass over a loader that has several, drawn with gradients on,"""
    later_batches: int = 0
    """and those that came after a first one."""
    batches_in_order: bool = True
    """Whether all passes over them have the same order."""
    autocast: set[str] = field(default_factory=set)
    """dtypes of autocast under which roots ran in training."""
    scaler: bool = False
    """Whether a GradScaler was used."""
    recurrent: dict[str, Series] = field(default_factory=dict)
    """By root: the norm of the loss's gradient by the input at each time step (the steps of the series are times)."""
    examples: list[tuple[Tensor, Tensor]] = field(default_factory=list, repr=False)
    """Inputs of the looks with their targets, where a root was called once and one of torch's losses judged it."""
    probed: Probed = field(default_factory=Probed)
    custom_functions: dict[str, Any] = field(default_factory=dict)
    """User's autograd functions by name, as classes."""
    bootstraps: list[Bootstrap] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=list)

    @property
    def main(self) -> Loss | None:
        """The loss with most calls; of several, the first."""
        return max(self.losses, key=lambda loss: loss.count, default=None)

    @property
    def optimizer(self) -> OptimizerRecord | None:
        """The one that steps most; of several, the first."""
        return max(self.optimizers, key=lambda optimizer: optimizer.steps, default=None)

    def trained_weights(self) -> list[Parameter]:
        """Matrices and kernels that an optimiser has, from input to loss as far as the order is known; without any
        optimiser, those that are updated by hand."""
        weights = [p for p in self.parameters.values() if len(p.shape) >= 2]
        if not self.optimizers:
            return [p for p in weights if p.changed and p.reached]
        return [p for p in weights if p.optimizer is not None]
