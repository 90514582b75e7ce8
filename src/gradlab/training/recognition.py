"""How each class of the validation split is recognised by the weights that a training keeps."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from gradlab import parallel
from gradlab.diagnosis.record import MISSED, Classes, Recognised
from gradlab.run.checkpoint import copy_tensors
from gradlab.tasks import evaluate, tasks
from gradlab.tasks.classify import Classify
from gradlab.tasks.metrics import auroc, by_class, viewed

if TYPE_CHECKING:
    from gradlab.training.loop import Training

_MOST = 200  # classes that are looked at one by one


def recognised(training: Training) -> Classes | None:
    """One more pass over the validation split, unless its figures say already that no class can be missed."""
    task, count = training.task, 0 if training.validation is None else training.task.outputs
    # Evaluations are shared by all processes, and the doctor is in one of them.
    if not isinstance(task, Classify) or not count or len(task.classes) > _MOST or parallel.count() > 1:
        return None
    best = training.progress.best.get("balanced_accuracy", 0.0) if training.best_weights is not None else 0.0
    if best > 1 - (1 - MISSED) / len(task.classes):
        return None
    totals: list[Tensor] = []

    def keep(total: Tensor) -> float:
        totals.append(total)
        return 0.0

    looking = copy.copy(task)
    looking.metrics = viewed({"classes": replace(auroc(), value=keep)}, task.class_logits)
    with _kept_weights(training):
        evaluate(training.model, looking, training.validation)
    each = [
        Recognised(name=name, examples=examples, right=right, area=area)
        for name, (examples, right, area) in zip(task.classes, by_class(totals[0]), strict=True)
    ]
    name = next((name for name, one in tasks.things().items() if one is type(task)), "classify")
    return Classes(task=name, weighted=task.weights is not None, each=each)


@contextmanager
def _kept_weights(training: Training) -> Iterator[None]:
    """Meanwhile the model has the weights that the run ends with."""
    if training.best_weights is None:
        with nullcontext() if training.average is None else training.average.in_use():
            yield
        return
    current = copy_tensors(training.model.state_dict())
    training.model.load_state_dict(training.best_weights)
    try:
        yield
    finally:
        training.model.load_state_dict(current)
