"""gradlab itself, on the path that any module takes."""

import os
import tempfile
from pathlib import Path

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
        self.folder = tempfile.TemporaryDirectory(prefix="gradlab-bench-")
        self.nowhere = open(os.devnull, "w")  # noqa: SIM115  (open as long as the process lives)

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        return fit(
            model,
            (work.inputs, work.targets),
            observers=self._observers() if self.observed else [],
            epochs=case.epochs,
            batch_size=case.batch_size,
            optimizer="adam",
            lr=case.lr,
        ).steps

    def _observers(self) -> list[Observer]:
        run, plan = Path(tempfile.mkdtemp(dir=self.folder.name)), Plan()
        (run / "checkpoints").mkdir()
        return [
            PlainProgress(self.nowhere),
            MetricsLog(run / "metrics.jsonl", plan.checkpoint_every),
            Checkpoints(run / "checkpoints", plan.checkpoint_every, plan.checkpoints),
        ]
