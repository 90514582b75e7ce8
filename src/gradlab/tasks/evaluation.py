"""A model judged on a whole split, and applied to new inputs."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gradlab.data import Inputs
from gradlab.tasks.metrics import Sums
from gradlab.tasks.task import Task

_ROWS = 4096  # examples at a time: enough to fill any device, small enough for its memory
_NUMBERS = 2**24  # outputs at a time: those of a text are as many as its tokens times the vocabulary


@contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards each submodule is in the mode it had."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def predict(model: nn.Module, inputs: Inputs, rows: int = _ROWS) -> Tensor:
    """Model outputs for all inputs, in evaluation mode."""
    with inference(model):
        return torch.cat([model(x) for x in _chunks(inputs, rows)])


def _chunks(inputs: Inputs, rows: int) -> Iterator[Tensor]:
    return (inputs[start : start + rows] for start in range(0, max(1, len(inputs)), rows))


def score(task: Task, outputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Loss and every metric of given outputs."""
    total, count = task.loss(outputs, targets)
    sums = {metric.sums for metric in task.metrics.values()}
    return _figures(task, total.item() / count, {s: s(outputs, targets) for s in sums})


def evaluate(
    model: nn.Module,
    task: Task,
    inputs: Inputs,
    targets: Tensor,
    rows: int = _ROWS,
    weights: Tensor | None = None,
) -> dict[str, float]:
    """Loss and every metric over a split: sums on the device, one division and one wait at the end.

    Weights, one for each example, are for the loss; the metrics count every example the same.
    """
    rows = min(rows, max(1, _NUMBERS // max(1, task.outputs * math.prod(targets.shape[1:]))))
    judged = (targets,) if weights is None else (targets, weights)
    merge = {metric.sums: metric.merge for metric in task.metrics.values()}  # each once, whoever shares it
    losses: list[Tensor] = []
    totals: dict[Sums, Tensor] = {}
    count = 0
    with inference(model):
        for x, y, *weight in zip(_chunks(inputs, rows), *(_chunks(part, rows) for part in judged), strict=True):
            output = model(x)
            loss, n = task.loss(output, y, *weight)
            losses.append(loss)
            count += n
            parts = {sums: sums(output, y) for sums in merge}
            totals = {sums: merge[sums](totals[sums], part) for sums, part in parts.items()} if totals else parts
        return _figures(task, torch.stack(losses).double().sum().item() / count, totals)


def _figures(task: Task, loss: float, totals: Mapping[Sums, Tensor]) -> dict[str, float]:
    """The loss, and every metric that is defined for these targets: which ones does not depend on the model."""
    on_host = {sums: total.cpu() for sums, total in totals.items()}
    figures = {name: metric.value(on_host[metric.sums]) for name, metric in task.metrics.items()}
    if not math.isnan(loss):  # otherwise it is the outputs that are no numbers
        figures = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
    return {"loss": loss, **figures}
