"""A model judged on a whole split, and applied to new inputs."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from gradlab.data import Inputs
from gradlab.tasks.task import Task

_ROWS = 4096  # examples at a time: enough to fill any device, small enough for its memory


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
    return (inputs[start : start + rows] for start in range(0, len(inputs), rows))


def score(task: Task, outputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Loss and every metric of given outputs."""
    total, count = task.loss(outputs, targets)
    figures = {"loss": total.item() / count}
    return figures | {name: m.value(m.sums(outputs, targets)) for name, m in task.metrics.items()}


def evaluate(model: nn.Module, task: Task, inputs: Inputs, targets: Tensor, rows: int = _ROWS) -> dict[str, float]:
    """Loss and every metric over a split: sums on the device, one division and one wait at the end."""
    totals: dict[str, Tensor] = {}
    count = 0
    with inference(model):
        for x, y in zip(_chunks(inputs, rows), _chunks(targets, rows), strict=True):
            output = model(x)
            loss, n = task.loss(output, y)
            count += n
            parts = {"loss": loss.double()} | {name: m.sums(output, y) for name, m in task.metrics.items()}
            totals = {k: totals[k] + v for k, v in parts.items()} if totals else parts
    figures = {"loss": totals.pop("loss").item() / count}
    return figures | {name: task.metrics[name].value(total.cpu()) for name, total in totals.items()}
