"""The parts of a model: parameters, modules, non-linearities, and the roots that the user's code calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.series import Series, median

COLUMNS = 4096
"""Of an input: where there are more, none are looked at."""


@dataclass(kw_only=True)
class Parameter:
    """A leaf tensor that a training could change."""

    name: str
    """As seen from its root: `net.layers.0.weight`."""
    shape: tuple[int, ...]
    requires_grad: bool
    dtype: str = "float32"
    owner: str = ""
    """The class of the module it belongs to."""
    registered: bool = True
    """Whether its root's parameters() give it."""
    # Before the first step:
    mean: float = math.nan
    std: float = math.nan
    rows_equal: bool = False
    """Whether all output units began with the same weights,"""
    rows_equal_later: bool = False
    """and still had the same when they were looked at last."""
    loaded: bool = False
    """Whether load_state_dict or an assignment gave it its values."""
    inherited: bool = False
    """Whether another root's had the same values, or it had been trained before the watch began."""
    drawn: bool = True
    """Whether it could have been drawn at random, as torch's initialisers draw."""
    asked: bool = False
    """Whether its own gradient was asked for, as that of an input is."""
    # Over the looks:
    gradient: Series = field(default_factory=Series)
    """Norm of the gradient as the optimiser finds it."""
    weight: Series = field(default_factory=Series)
    """Norm of the values."""
    update: Series = field(default_factory=Series)
    """Norm of one step's change, divided by the norm of the values."""
    taken: set[int] = field(default_factory=set)
    """The looks at which its value was taken out of it as a number, with gradients on."""
    # At the end:
    used: int = 0
    """Looks in which its module ran, in a root's call with gradients on."""
    used_without: int = 0
    """Looks in which its module ran with gradients off in the whole call."""
    reached: int = 0
    """Looks in which a loss depended on it."""
    optimizer: int | None = None
    """Which optimiser has it."""
    changed: bool = False
    """Whether its values have ever changed."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def typical_update(self) -> float:
        """Relative to its size, after the first steps."""
        return median(self.update.values[2:] or self.update.values)


@dataclass(kw_only=True)
class Module:
    """A module that has run."""

    path: str
    kind: str
    root: str = ""
    registered: bool = True
    """Whether its root knows it as a submodule."""
    leaf: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    """What its constructor was given, as far as it is simple: p, num_features, eps, in_features, …"""
    trained: int = 0
    """Looks with gradients on, in which it ran."""
    trained_in_eval: int = 0
    """Those of them in which its `training` was False."""
    evaluated: int = 0
    """Looks with gradients off."""
    evaluated_in_train: int = 0
    padded: int = 0
    """Attention: looks in which it was given a mask of padding,"""
    padding_only: int = 0
    """those of them in which all that it could see was padding,"""
    hidden: float = 0.0
    """and the share of all places that the last of these masks hid."""
    per_channel: Series = field(default_factory=Series)
    """Batch norm in training: how many values each channel's statistics are made of."""
    mean: Series = field(default_factory=Series)
    std: Series = field(default_factory=Series)
    """Of its outputs, in training."""


@dataclass(kw_only=True)
class Activation:
    """A non-linearity in the graph of a loss, whether a module or a function made it."""

    kind: str
    """relu, tanh, sigmoid, softmax, gelu, …"""
    where: str
    """The module that made it, else its number among its kind: `relu #2`."""
    order: int
    """Its place, from the input to the loss."""
    hidden: bool = True
    """Whether parameters come after it."""
    units: int = 0
    dead: Series = field(default_factory=Series)
    """relu: the share of units that were zero for every row of the last looks (up to 20 of them)."""
    saturated: Series = field(default_factory=Series)
    """tanh, sigmoid: the share of outputs within 1 % of their rails."""


@dataclass(kw_only=True)
class Root:
    """A module that the user's code called itself."""

    name: str
    kind: str
    reference: Callable[[], nn.Module | None] = field(default=lambda: None, repr=False)
    site: Site | None = None
    trained: int = 0
    """Calls with gradients on."""
    evaluated: int = 0
    """Calls with gradients off."""
    trained_in_eval: int = 0
    stepped: int = 0
    """Steps of an optimiser that has its parameters, and those of them that were made of calls in evaluation mode."""
    stepped_in_eval: int = 0
    eval_since: int = -1
    """The first of these."""
    evaluated_in_train: int = 0
    evaluated_again: int = 0
    """Calls with gradients off and the input of the call before, not counted above: draws of what is random in it."""
    evaluated_steps: int = 0
    """Steps after which it was called with gradients off: few, if that was an evaluation."""
    evaluated_site: Site | None = None
    eval_site: Site | None = None
    """The last call of eval()."""
    from_data: tuple[list[float], list[float]] | None = None
    """Means and deviations of the columns of its input in the last looks, where that came from no other root,"""
    from_root: tuple[list[float], list[float]] | None = None
    """and where another root had made it; with the step when that was seen last."""
    from_root_step: int = -1
    beside: set[str] = field(default_factory=set)
    """Roots that were given the very same input: a student and its teacher, not a model and its head."""
    inputs: list[Inputs] = field(default_factory=list)
    """One for each tensor argument of training calls."""
    evaluation_inputs: Inputs | None = None
    """The first tensor argument of calls with gradients off, after the first step."""
    initial: nn.Module | None = field(default=None, repr=False)
    """A copy with the first weights, where one could be made."""

    @property
    def module(self) -> nn.Module | None:
        """None if the user has dropped it."""
        return self.reference()


@dataclass(kw_only=True)
class Inputs:
    """A tensor argument of a root."""

    shape: tuple[int, ...] = ()
    dtype: str = ""
    looks: int = 0
    rows: int = 0
    mean: list[float] = field(default_factory=list)
    std: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    """Of each column (features of a table, channels of a picture), pooled over the looks; at most `COLUMNS`."""
    duplicated: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of columns that were equal in all looks (tables only, at most 10)."""
    copies: int = 0
    """How many columns are such a copy of an earlier one."""
    not_finite: bool = False
    sample: Tensor | None = field(default=None, repr=False)
    """Rows of the first looks, for probes."""
