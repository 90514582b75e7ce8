"""A training step that can be run again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from gradlab.diagnosis.record.model import Root


@dataclass(kw_only=True)
class Capture:
    """One training step as it could be run again: model, inputs, and how its loss was made."""

    root: Root
    model: nn.Module = field(repr=False)
    """A copy, with the weights before the step."""
    args: tuple[Any, ...] = field(repr=False)
    kwargs: dict[str, Any] = field(repr=False, default_factory=dict)
    output: Any = field(repr=False, default=None)
    connected: tuple[int, ...] = ()
    """Which of the tensors in its output the loss depends on."""
    kind: str | None = None
    """The loss function, one of torch.nn.functional, if that is how it was made."""
    target: Tensor | None = field(repr=False, default=None)
    options: dict[str, Any] = field(default_factory=dict)
    view: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
    """Shape, strides and offset of the loss's input in the storage of the output."""
    place: int | None = None
    """Which of several outputs it was."""
    loss: float = math.nan
    step: int = 0
