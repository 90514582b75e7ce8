"""What may watch a training: the only way to extend the loop.

The loop calls, in this order: `start` once; after each step that is a multiple of an observer's `every`, its `step`;
`log` with each line of the metrics log; `evaluation` with each evaluation's line (which `log` has seen too); `end`
once, whatever the reason. At a step where several are due: log, evaluation, step. `fallback` and `rewind` come only
where a step that was replayed is made eagerly instead.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.errors import TrainingError
from gradlab.files import REMEDY, clear_leftovers, json_text, remove, write_errors, write_file
from gradlab.run import checkpoint
from gradlab.run.log import read_lines

if TYPE_CHECKING:
    from gradlab.training.loop import Training
    from gradlab.training.requests import Request

Line = Mapping[str, Any]

_FIRST = 60.0  # seconds after which something is kept of a training


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

    def request(self, training: Training, request: Request) -> None:
        """After the training has done what it was asked to (see `Training.request`), but for a stop."""

    def fallback(self, training: Training) -> None:
        """After the training has found that its step must be eager; `training.mode_reason` says why."""

    def rewind(self, training: Training) -> None:
        """After the training has gone back to an earlier step, from which it is repeated."""

    def end(self, training: Training) -> None:
        """After the last step; `training.progress.ended` says why it was the last."""

    def snapshot(self) -> dict[str, Any]:
        """What a checkpoint should keep for it: tensors, numbers and text, nested in dictionaries and lists."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Before `start`, where the training goes on from a checkpoint that kept something."""


def snapshots(observers: Sequence[Observer]) -> dict[str, list[dict[str, Any]]]:
    """What observers want kept, by the names of their classes: of one class there may be several."""
    states: dict[str, list[dict[str, Any]]] = {}
    for observer in observers:
        states.setdefault(type(observer).__name__, []).append(observer.snapshot())
    return {name: several for name, several in states.items() if any(several)}


def restore_observers(observers: Sequence[Observer], states: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """Give back to each what it kept; others may watch now than did then."""
    waiting = {name: list(several) for name, several in states.items()}
    for observer in observers:
        several = waiting.get(type(observer).__name__)
        if several and (state := several.pop(0)):
            observer.restore(state)


class MetricsLog(Observer):
    """metrics.jsonl: one JSON object a line, on disk as soon as it is written."""

    def __init__(self, path: Path, every: int):
        self.path, self.every = path, every
        self.file: io.FileIO | None = None

    def start(self, training: Training) -> None:
        # At step 0 nothing has been kept: the first evaluation will be written again.
        keep_lines_until(self.path, training.progress.step or -1)
        with write_errors(self.path, _go_on(self.path), TrainingError):
            self.file = self.path.open("ab", buffering=0)

    def log(self, training: Training, line: Line) -> None:
        assert self.file is not None
        rest = memoryview(json_text(line, None).encode() + b"\n")
        with write_errors(self.path, _go_on(self.path), TrainingError):
            while rest:
                rest = rest[self.file.write(rest) :]

    def rewind(self, training: Training) -> None:
        self.end(training)
        self.start(training)

    def request(self, training: Training, request: Request) -> None:
        self.step(training)  # a checkpoint may be written for it

    def step(self, training: Training) -> None:
        assert self.file is not None
        with write_errors(self.path, _go_on(self.path), TrainingError):
            os.fsync(self.file.fileno())  # a checkpoint must never be newer than the log that belongs to it

    def end(self, training: Training) -> None:
        if self.file is not None:
            self.file.close()


class Checkpoints(Observer):
    """Saves the training every few steps, every few minutes and at its end, and keeps the newest few.

    What is saved is copied at once and written by another thread, since most of the time of writing is waiting. The
    clock is a timer that makes a request, so that no step has to look at it.
    """

    def __init__(self, folder: Path, every: int, keep: int, minutes: float | None = None):
        self.folder, self.every, self.keep = folder, every, keep
        self.seconds = None if minutes is None else 60 * minutes
        self.saved = 0
        self.taken: float | None = None  # when the last one was
        self.timer: threading.Timer | None = None
        self.writer = ThreadPoolExecutor(1)
        self.writing: Future[None] | None = None

    def start(self, training: Training) -> None:
        clear_leftovers(self.folder)  # of a process that was killed while it saved
        # Newer checkpoints than the one resumed from are damaged, or their metrics would be written twice.
        for path in checkpoint.steps(self.folder):
            if checkpoint.step_number(path) > training.progress.step:
                remove(path)
        self._prune()
        self.saved = training.progress.step
        self.taken = time.monotonic() if self.saved else None
        if self.seconds is not None:
            self._ring_in(min(_FIRST, self.seconds), training)

    def _ring_in(self, seconds: float, training: Training) -> None:
        self.timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._ring, [training])
        self.timer.daemon = True
        self.timer.start()

    def _ring(self, training: Training) -> None:
        """Ask for a checkpoint, unless one was taken meanwhile that is not old enough."""
        assert self.seconds is not None
        rest = 0.0 if self.taken is None else self.taken + self.seconds - time.monotonic()
        if rest > 0:
            self._ring_in(rest, training)
        else:
            training.request("checkpoint")

    def step(self, training: Training) -> None:
        self._wait()
        self.taken = time.monotonic()
        self.writing = self.writer.submit(self._write, training.checkpoint())

    def rewind(self, training: Training) -> None:
        self._wait()
        if self.timer is not None:
            self.timer.cancel()
        self.start(training)

    def request(self, training: Training, request: Request) -> None:
        if request.what in ("save", "lr"):  # a resumed run must have the rate that was asked for
            self.step(training)
            self._wait()
        elif request.what == "checkpoint" and self.seconds is not None:
            self._wait()
            if self.saved != training.progress.step:
                self.step(training)
            self._ring_in(self.seconds, training)

    def end(self, training: Training) -> None:
        if self.timer is not None:
            self.timer.cancel()
        try:
            self._wait()
            # Only between steps: what stops a step in the middle leaves nothing that could be gone on with.
            if (
                training.progress.ended in ("finished", "patience", "interrupted")
                and self.saved != training.progress.step
            ):
                self._write(training.checkpoint())
        finally:
            self.writer.shutdown()

    def _wait(self) -> None:
        if self.writing is not None:
            writing, self.writing = self.writing, None
            writing.result()

    def _write(self, taken: checkpoint.Checkpoint) -> None:
        last = f"the last sound one is that of step {self.saved}" if self.saved else "there is none before it"
        advice = f"The checkpoint of step {taken.step} is lost; {last}. {_go_on(self.folder)}"
        with write_errors(self.folder, advice, TrainingError):
            checkpoint.write(self.folder, taken, advice=advice, kind=TrainingError)
        self.saved = taken.step
        with write_errors(self.folder, _go_on(self.folder), TrainingError):
            self._prune()

    def _prune(self) -> None:
        for old in checkpoint.steps(self.folder)[self.keep :]:
            remove(old)


def _go_on(path: Path) -> str:
    return f"{REMEDY}, then: gradlab resume {path.parent}"


def keep_lines_until(path: Path, step: int) -> None:
    """Drop the lines of the metrics log after a step, and a torn last line."""
    if not path.exists():  # which is no file yet, or a link to none
        return
    kept = [text + "\n" for line, text in read_lines(path) if line["step"] <= step]
    write_file(path, "".join(kept), _go_on(path), TrainingError)
