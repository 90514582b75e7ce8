"""The loss of a model as the first step of its training meets it."""

import copy
import math

import torch
from torch import nn

from gradlab.data import Examples, generators
from gradlab.data.examples import at_once
from gradlab.tasks.evaluation import device_of, evaluate, seeded
from gradlab.tasks.task import Supervised, Task

_ROWS = 256
_NUMBERS = 2**24  # outputs at a time
_SEED = 0


def first_loss(model: nn.Module, task: Task, examples: Examples) -> float:
    """The mean loss in training mode, where batch normalization takes the statistics of the batch.

    In evaluation mode a fresh model would use running statistics that no batch has reached yet. The model and all
    random generators stay as they are: a copy is evaluated. NaN, where there is none to be had: what fails here for a
    reason fails in the training too, which says why. Tasks without targets are evaluated as always.
    """
    if not isinstance(task, Supervised):
        return evaluate(model, task, examples).get("loss", math.nan)
    try:
        trained = copy.deepcopy(model).train()
        with generators.kept(), seeded(device_of(model), _SEED), torch.no_grad():
            return _mean_loss(trained, task, examples)
    except Exception:
        return math.nan


def _mean_loss(model: nn.Module, task: Supervised, examples: Examples) -> float:
    targets = examples.parts.get("targets")
    each = 1 if targets is None else math.prod(targets.shape[1:])
    rows = min(at_once(_ROWS, examples.inputs), max(1, _NUMBERS // max(1, task.outputs * each)))
    total, count = 0.0, 0.0
    for batch in examples.batches(rows):
        weight = (batch["weights"],) if "weights" in batch else ()
        loss, n = task.loss(task.forward(model, batch), batch["targets"], *weight)
        total, count = total + float(loss), count + float(n)
    return total / count
