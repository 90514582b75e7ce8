"""What may watch a training: the only way to extend the loop.

The loop calls, in this order: `start` once; after each step that is a multiple of an observer's `every`, its `step`;
`log` with each line of the metrics log; `evaluation` with each evaluation's line (which `log` has seen too); `end`
once, whatever the reason. At a step where several are due: log, evaluation, step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.errors import TrainingError
from gradlab.run import checkpoint
from gradlab.run.folder import read_lines

if TYPE_CHECKING:
    from gradlab.training.loop import Training

Line = Mapping[str, Any]


class Observer:
    """Sees a training from start to end. Override what you need."""

    every: int | None = None
    """Steps between calls of `step`; None for no such call. Nothing is called in the steps between."""

    def start(self, training: Training) -> None:
        """Before the first step (or the first after resuming)."""

    def step(self, training: Training) -> None:
        """After each `every` steps."""

    def log(self, training: Training, line: Line) -> None:
        """After each line of the metrics log."""

    def evaluation(self, training: Training, line: Line) -> None:
        """After each evaluation of the validation split."""

    def end(self, training: Training) -> None:
        """After the last step; `training.progress.ended` says why it was the last."""


class MetricsLog(Observer):
    """metrics.jsonl: one JSON object a line, flushed as it is written."""

    def __init__(self, path: Path, every: int):
        self.path, self.every = path, every

    def start(self, training: Training) -> None:
        keep_lines_until(self.path, training.progress.step)
        self.file = self.path.open("a", buffering=1)

    def log(self, training: Training, line: Line) -> None:
        self.file.write(json.dumps(line) + "\n")

    def step(self, training: Training) -> None:
        os.fsync(self.file.fileno())  # a checkpoint must never be newer than the log that belongs to it

    def end(self, training: Training) -> None:
        self.step(training)
        self.file.close()


class Checkpoints(Observer):
    """Saves the training every few steps and at its end, and keeps the newest few."""

    def __init__(self, folder: Path, every: int, keep: int):
        self.folder, self.every, self.keep = folder, every, keep
        self.saved: int | None = None

    def start(self, training: Training) -> None:
        for leftover in self.folder.glob(".step-*"):  # of a process that was killed while it saved
            checkpoint.remove(leftover)
        # Newer checkpoints than the one resumed from are damaged, or their metrics would be written twice.
        for path in checkpoint.steps(self.folder):
            if int(path.name.removeprefix("step-")) > training.progress.step:
                checkpoint.remove(path)
        self.saved = training.progress.step

    def step(self, training: Training) -> None:
        step = training.progress.step
        try:
            checkpoint.write(self.folder, training.checkpoint())
        except checkpoint.WRITE_ERRORS as error:
            kept = f"step {self.saved} is kept" if self.saved else "there is none yet"
            raise TrainingError(
                f"The checkpoint of step {step} could not be written to {self.folder}: {error}. The last sound one: "
                f"{kept}. Make room, then: gradlab resume {self.folder.parent}"
            ) from None
        self.saved = step
        for old in checkpoint.steps(self.folder)[self.keep :]:
            checkpoint.remove(old)

    def end(self, training: Training) -> None:
        if training.progress.ended != "diverged" and self.saved != training.progress.step:
            self.step(training)


def keep_lines_until(path: Path, step: int) -> None:
    """Drop the lines of the metrics log after a step, and a torn last line."""
    if not path.exists():
        return
    kept = [text + "\n" for line, text in read_lines(path) if line["step"] <= step]
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(kept))
    temporary.replace(path)
