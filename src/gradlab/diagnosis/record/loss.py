"""Losses: what `backward()` was called on, and calls of torch's loss functions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gradlab.diagnosis.record.graph import Graph
from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.series import Series


@dataclass(kw_only=True)
class Loss:
    """What `backward()` was called on, at one line of the user's code."""

    site: Site | None
    values: Series = field(default_factory=Series)
    count: int = 0
    """Calls of backward()."""
    nodes: Series = field(default_factory=Series)
    """The size of its graph."""
    carried: Series = field(default_factory=Series)
    """How much of it was part of a graph at a look before."""
    seconds: Series = field(default_factory=Series)
    """How long the backward pass took."""
    graphs: list[Graph] = field(default_factory=list)
    """Of the first looks."""
    last_graph: Graph | None = None
    not_finite: int | None = None
    """The first step at which it was NaN or infinite."""
    parameters: set[str] = field(default_factory=set)
    """Those it ever depended on."""

    @property
    def start(self) -> float:
        return self.values.head(5)

    @property
    def end(self) -> float:
        return self.values.tail(0.1)


@dataclass(kw_only=True)
class LossCall:
    """One of torch's loss functions, as it was called at one line: in training, or with gradients off."""

    kind: str
    """cross_entropy, nll_loss, mse_loss, l1_loss, binary_cross_entropy, binary_cross_entropy_with_logits, kl_div, …"""
    site: Site | None
    training: bool
    values: Series = field(default_factory=Series)
    """Means over elements, whatever the reduction was; of all calls with gradients off, and of looks else."""
    count: int = 0
    input_shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """reduction, ignore_index, weighted, label_smoothing, …"""
    # Sums over looks; classes are of the class axis, or 0 and 1.
    targets: Counter[int] = field(default_factory=Counter)
    recent_predicted: Counter[int] = field(default_factory=Counter)
    recent_targets: Counter[int] = field(default_factory=Counter)
    recent_right: Counter[int] = field(default_factory=Counter)
    """Of the last tenth of the looks so far; `right` are the targets that were predicted."""
    first_targets: Tensor | None = field(default=None, repr=False)
    """Of the first look, at most 20,000 of them."""
    batch_labels: list[list[int]] = field(default_factory=list)
    """The labels of consecutive batches from the first step on (at most 40 batches of at most 512)."""
    input_low: float = math.inf
    target_low: float = math.inf
    target_high: float = -math.inf
    """Of the targets that are real numbers, in all looks."""
    logs_sum_to_one: bool = True
    """Whether in all looks the inputs were logarithms of probabilities along the class axis."""
    rows_sum_to_one: bool = True
    """Whether in all looks the inputs lay in [0, 1] and summed to 1 along the class axis."""
    constant_loss: float = math.nan
    """What the best constant prediction would give: label entropy, variance of the targets, …"""
    floor: float = 0.0
    """What a perfect prediction would give: more than 0 where binary targets are shares, such as grey pixels."""
