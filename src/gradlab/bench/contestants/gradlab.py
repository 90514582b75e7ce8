"""gradlab itself, on the path that any module takes."""

import os
import tempfile
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

    def __init__(self, observed: bool):
        self.observed = observed

    def train(self, model: nn.Module, work: Work) -> int:
        if not self.observed:
            return _fit(model, work, [])
        plan = Plan()
        with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder, open(os.devnull, "w") as nowhere:
            run = Path(folder)
            (run / "checkpoints").mkdir()
            observers = [
                PlainProgress(nowhere),
                MetricsLog(run / "metrics.jsonl", plan.checkpoint_every),
                Checkpoints(run / "checkpoints", plan.checkpoint_every, plan.checkpoints),
            ]
            return _fit(model, work, observers)


def _fit(model: nn.Module, work: Work, observers: list[Observer]) -> int:
    case = work.case
    plan: dict[str, Any] = {"epochs": case.epochs, "batch_size": case.batch_size, "lr": case.lr}
    return fit(model, (work.inputs, work.targets), observers=observers, **plan).steps
