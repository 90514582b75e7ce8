"""gradlab itself, on the path that any module takes."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from torch import nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work
from gradlab.training.display import PlainProgress
from gradlab.training.fit import fit
from gradlab.training.observers import Checkpoints, MetricsLog, Observer
from gradlab.training.plan import Plan


class Gradlab(Contestant):
    """`fit`; observed, with all that watches a run of the command line."""

    def __init__(self, observed: bool, precision: str = "float32"):
        self.observed, self.precision = observed, precision
        self.files = ExitStack()

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        plan: dict[str, Any] = {"epochs": case.epochs, "batch_size": case.batch_size, "lr": case.lr}
        plan |= {"precision": self.precision, "doctor": self.observed}
        observers = self._observers() if self.observed else []
        return fit(model, (work.inputs, work.targets), observers=observers, progress=False, **plan).steps

    def _observers(self) -> list[Observer]:
        plan = Plan()
        run = Path(self.files.enter_context(tempfile.TemporaryDirectory(prefix="gradlab-bench-")))
        (run / "checkpoints").mkdir()
        return [
            PlainProgress(self.files.enter_context(open(os.devnull, "w"))),
            MetricsLog(run / "metrics.jsonl", plan.checkpoint_every),
            Checkpoints(run / "checkpoints", plan.checkpoint_every, plan.checkpoints, plan.checkpoint_minutes),
        ]

    def tidy(self) -> None:
        self.files.close()
