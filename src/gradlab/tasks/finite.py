"""Numbers at the boundaries of a training, its weights, losses and predictions: finite, or an error says where not."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.errors import NumericalError
from gradlab.tasks.evaluation import evaluate

if TYPE_CHECKING:
    from gradlab.tasks.task import Task

_HUGE = 1e8  # of a weight: no training that learns has one


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of those that hold NaN or infinity; waits for the device once."""
    floats = {name: t.detach() for name, t in tensors.items() if t.is_floating_point() and t.numel()}
    if not floats:
        return []
    largest = torch._foreach_norm(list(floats.values()), math.inf)  # NaN where one is
    finite = torch.stack(largest).isfinite().tolist()
    return [name for name, is_finite in zip(floats, finite, strict=True) if not is_finite]


def check_outputs(outputs: Tensor) -> Tensor:
    """Refuse predictions that are no numbers; the first such row is named."""
    finite = outputs.isfinite()
    if not finite.all():
        row = int((~finite).reshape(len(outputs), -1).any(1).nonzero()[0])
        raise NumericalError(f"The model's output for row {row} (from 0) is not finite. Look at that row.")
    return outputs


def check_losses(figures: Mapping[str, float], model: nn.Module, task: "Task", split: Any, where: str) -> None:
    """Refuse an evaluation whose losses are no numbers. `where` says of what and when: "validation split, step 5"."""
    for name in dict.fromkeys(("loss", *task.objectives())):
        value = figures.get(name, 0.0)
        if not math.isfinite(value):
            raise NumericalError(f"The {name} is {value} ({where}): {_reason(model, task, split)}")


def _reason(model: nn.Module, task: "Task", split: Any) -> str:
    """The weights, or the first example, that made it so."""
    for name in not_finite(dict(model.named_parameters())):
        return f"the weights {name} are not finite. Lower train.lr."
    size = max((p.detach().abs().max().item() for p in model.parameters() if p.numel()), default=0.0)
    if size > _HUGE:
        return f"the weights have grown to {size:.1g}. Lower train.lr."
    if not isinstance(split, Examples) or split.carries:
        return "the weights are finite, so look at the data."
    while len(split) > 1:  # each time the half that holds the first
        first, second = np.array_split(np.arange(len(split)), 2)
        split = split.subset(first if _overflows(model, task, split.subset(first)) else second)
    if not _overflows(model, task, split):
        return "that of each example is finite, but not their sum. Look at the largest numbers in the data."
    parts = [t for t in split.batch(slice(0, 1)).values() if t.is_floating_point() and t.numel()]
    largest = f", whose largest number is {max(t.abs().max().item() for t in parts):g}" if parts else ""
    return f"so is that of row {split.rows[0]} (from 0){largest}. Look at it."


def _overflows(model: nn.Module, task: "Task", split: Examples) -> bool:
    return not math.isfinite(evaluate(model, task, split).get("loss", 0.0))
