"""The loss of a model as the first step of its training meets it."""

import copy
import math

import torch
from torch import nn

from gradlab.data import Examples, generators
from gradlab.tasks.evaluation import device_of, evaluate, iterate_outputs, seeded
from gradlab.tasks.task import Supervised, Task

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
    total, count = 0.0, 0.0
    for output, batch in iterate_outputs(model, task, examples):
        weight = (batch["weights"],) if "weights" in batch else ()
        loss, n = task.loss(output, batch["targets"], *weight)
        total, count = total + float(loss), count + float(n)
    return total / count
