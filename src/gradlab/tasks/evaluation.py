"""A model judged on a whole split, and applied to new inputs."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.data import Examples, Inputs
from gradlab.data.text.sequences import Padded
from gradlab.nn.modes import evaluating
from gradlab.tasks.metrics import Sums
from gradlab.tasks.task import Task

_ROWS = 4096  # examples at a time: enough to fill any device, small enough for its memory
STRIPS = 8  # of a text that is read in order. Each starts from a state of zeros: 8 cost 0.002 bits per byte beside one
_TOKENS = 2**16  # of texts at a time
_NUMBERS = 2**24  # outputs at a time: those of a text are as many as its tokens times the vocabulary


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients."""
    with torch.inference_mode(), evaluating(model):
        yield


def predict(model: nn.Module, inputs: Inputs, rows: int = _ROWS) -> Tensor:
    """Model outputs for all inputs, in evaluation mode."""
    rows = _fitting(inputs, rows)
    with inference(model):
        return torch.cat([model(x) for x in _chunks(inputs, rows)])


def _fitting(inputs: Inputs, rows: int) -> int:
    """As many rows or fewer: what a model makes of a text takes memory for each of its tokens."""
    return min(rows, max(1, _TOKENS // inputs.longest)) if isinstance(inputs, Padded) else rows


def _chunks(inputs: Inputs, rows: int) -> Iterator[Tensor]:
    return (inputs[start : start + rows] for start in range(0, max(1, len(inputs)), rows))


def evaluate(
    model: nn.Module,
    task: Task,
    inputs: Inputs,
    targets: Tensor,
    rows: int = _ROWS,
    weights: Tensor | None = None,
    carry: bool = False,
) -> dict[str, float]:
    """Loss and every metric over a split: sums on the device, one division and one wait at the end.

    Weights, one for each example, are for the loss; the metrics count every example the same.

    With `carry`, a text is read as a model that was trained with it reads: in order, each window from the state behind
    the one before. The targets are those of every other model, each token once, so that bits per byte can be compared;
    what such a model has of it is its longer past, and a state of zeros at every window is one it has hardly seen.
    """
    rows = min(rows, max(1, _NUMBERS // max(1, task.outputs * math.prod(targets.shape[1:]))))
    rows = _fitting(inputs, rows)
    judged = (targets,) if weights is None else (targets, weights)
    merge = {metric.sums: metric.merge for metric in task.metrics.values()}  # each once, whoever shares it
    losses: list[Tensor] = []
    totals: dict[Sums, Tensor] = {}
    count = 0
    with inference(model):
        read = _carried(model, inputs, *judged) if carry else _apart(model, rows, inputs, *judged)
        for output, y, *weight in read:
            loss, n = task.loss(output, y, *weight)
            losses.append(loss)
            count += n
            parts = {sums: sums(output, y) for sums in merge}
            totals = {sums: merge[sums](totals[sums], part) for sums, part in parts.items()} if totals else parts
        return _figures(task, torch.stack(losses).double().sum().item() / count, totals)


def _apart(model: nn.Module, rows: int, *parts: Inputs) -> Iterator[tuple[Tensor, ...]]:
    """The outputs for some rows after the other, beside what they are judged by."""
    for x, *judged in zip(*(_chunks(part, rows) for part in parts), strict=True):
        yield model(x), *judged


def _carried(model: Any, *parts: Inputs) -> Iterator[tuple[Tensor, ...]]:
    """The same along strips of the text, of which the last may be shorter than the others."""
    count = len(parts[0])
    steps = math.ceil(count / STRIPS)
    starts, cache = torch.arange(0, count, steps), model.new_cache(STRIPS, parts[0].shape[1])
    for step in range(steps):
        rows = starts[starts + step < count] + step
        if step and len(rows) < len(starts):
            cache.reorder(torch.arange(len(rows), device=parts[0].device))
        x, *judged = (part[rows] for part in parts)
        yield model(x, cache=cache), *judged


def compare(models: Mapping[str, nn.Module], task: Task, examples: Examples) -> dict[str, dict[str, float]]:
    """Loss and every metric of several models on the same examples, by name."""
    x, y = examples.inputs, examples.targets
    return {name: evaluate(model.to(x.device), task, x, y) for name, model in models.items()}


def _figures(task: Task, loss: float, totals: Mapping[Sums, Tensor]) -> dict[str, float]:
    """The loss, and every metric that is defined for these targets: which ones does not depend on the model."""
    on_host = {sums: total.cpu() for sums, total in totals.items()}
    figures = {name: metric.value(on_host[metric.sums]) for name, metric in task.metrics.items()}
    if not math.isnan(loss):  # otherwise it is the outputs that are no numbers
        figures = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
    return {"loss": loss, **figures}
