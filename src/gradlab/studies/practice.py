"""Short trainings that leave nothing behind: on a copy of a fresh model, without a folder."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from gradlab.data import Examples
from gradlab.registry import Part
from gradlab.tasks import Task
from gradlab.training import driver
from gradlab.training.experiment import Experiment
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.training.plan import Plan
from gradlab.training.progress import Progress


class History(Observer):
    """Keeps the lines of the metrics log that are about training steps."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def log(self, training: Training, line: Line) -> None:
        if line["split"] == "train":
            self.lines.append(line)


def practice_plan(plan: Plan, steps: int, **changes: Any) -> Plan:
    """The plan for a few steps at a constant rate, each logged, without averages, carried states or early ends."""
    constant = Part("constant")
    quiet = {"schedule": constant, "log_every": 1, "evaluate_every": steps, "patience": None, "keep": "last"}
    return replace(plan, steps=steps, ema=None, carry=False, **{**quiet, **changes})


def practise(
    experiment: Experiment,
    plan: Plan,
    examples: Examples | None = None,
    *,
    model: nn.Module | None = None,
    task: Task | None = None,
    rate: Callable[[int], float] | None = None,
    observers: Sequence[Observer] = (),
) -> tuple[nn.Module, Progress]:
    """Train a copy of the experiment's model, or the one given, in place; torch's settings are left as they were."""
    practised = copy.deepcopy(experiment.model) if model is None else model
    train = experiment.splits["train"] if examples is None else examples
    repeated: dict[str, Any] = {"threads": experiment.threads, "mode": "eager"}
    built = driver.training(
        practised, task or experiment.task, train, None, plan, **repeated, rate=rate, observers=observers
    )
    with built as training:
        return practised, training.run()
