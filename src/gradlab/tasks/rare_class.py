"""Which figure selects a classifier with a rare class, since a model that never predicts it has a low loss."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from gradlab.data import Examples, Targets
from gradlab.registry import Part
from gradlab.tasks.task import Task, has_targets, tasks

KNOB = "best_metric"
_SHARE = 0.1  # of the training examples: a class with fewer is rare,
_FAIR_SHARE = 0.5  # if it also has less than half of what each of many classes has on average


def rare_class(counts: Sequence[int]) -> int | None:
    """The rarest class that training has, if it is rare.

    >>> rare_class([970, 30]), rare_class([800, 200]), rare_class([50] * 20), rare_class([900, 80, 20])
    (1, None, None, 2)
    """
    known = [place for place, count in enumerate(counts) if count]
    rarest = min(known, key=lambda place: counts[place], default=None)
    if rarest is None or counts[rarest] >= min(_SHARE, _FAIR_SHARE / len(known)) * sum(counts):
        return None
    return rarest


def with_best_metric(part: Part, targets: Targets, held_out: Iterable[Any]) -> Part:
    """A task that selects by a ranking where a class is rare, unless the user has chosen a figure.

    Every split that is held out must have members of a class and others, without which no ranking is defined.
    """
    if (
        part.values.get(KNOB) != "auto"
        or KNOB not in tasks.schema(part.name).knobs
        or rare_class(targets.counts) is None
    ):
        return part
    splits = [split for split in held_out if len(split)]
    if not all(_has_two_classes(split) for split in splits):
        return part
    metric = "average_precision" if len(targets.counts) == 2 else "auroc"
    return replace(part, values={**part.values, KNOB: metric})


def _has_two_classes(split: Any) -> bool:
    return isinstance(split, Examples) and has_targets(split) and len(torch.unique(split.targets[:])) > 1


def selection_reason(task: Task) -> str:
    """Why a task selects by a ranking; "" where no class is rare."""
    targets: Any = getattr(task, "targets", None)
    classes: Any = getattr(targets, "classes", None)
    rare = rare_class(targets.counts) if classes else None
    if rare is None or task.criterion.figure == "loss":
        return ""
    share = targets.counts[rare] / sum(targets.counts)
    return f"only {share:.1%} of the training examples are of the class {classes[rare]!r}"
