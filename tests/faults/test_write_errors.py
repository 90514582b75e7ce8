"""Each write of a run fails once, as on a full disk: in the end the run is the one that was left alone."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import check_same, check_sound, checkpoints

import gradlab as gl
from gradlab.errors import GradlabError, TrainingError
from gradlab.files import write_file

CHANGES = {
    "data.examples": 60, "data.noise": 0.4, "model.hidden": [4], "train.lr": 0.1, "train.log_every": 1,
    "train.evaluate_every": 2, "train.checkpoint_every": 3, "train.checkpoints": 2,
}  # fmt: skip
STEPS = [9, 10]  # the last checkpoint is one of the interval, or that of the end alone


class FailingWrites:
    """Counts what is written, and refuses one of it."""

    def __init__(self, number: int):
        self.number, self.count = number, 0

    def write(self) -> None:
        self.count += 1
        if self.count == self.number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.write()
            return function(*arguments, **options)

        return call


@contextmanager
def failing_writes(number: int) -> Iterator[FailingWrites]:
    """Meanwhile the write of that number fails; 0 for none."""
    writes, opened = FailingWrites(number), Path.open

    def open_log(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        file = opened(path, mode, *arguments, **options)
        return LogFile(file, writes) if path.name == "metrics.jsonl" and "a" in mode else file

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "mkdir", "rename", "replace"):
            patch.setattr(os, name, writes.counted(getattr(os, name)))
        patch.setattr(Path, "open", open_log)
        yield writes


class LogFile:
    """An open metrics log whose writes are counted."""

    def __init__(self, file: Any, writes: FailingWrites):
        self.write, self.fileno, self.close = writes.counted(file.write), file.fileno, file.close


@pytest.fixture(autouse=True)
def short_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Megabytes of charts would take most of the time here."""

    def write_report(run: gl.Run) -> None:
        write_file(run.path / "report.html", "report", kind=TrainingError)

    monkeypatch.setattr("gradlab.report.write_report", write_report)


def train(steps: int, out: Path) -> None:
    gl.train("moons-mlp", {**CHANGES, "train.steps": steps}, out=out, device="cpu")


@pytest.fixture(scope="module", params=STEPS)
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    train(request.param, out)
    return request.param, out


def count_writes(steps: int, folder: Path) -> int:
    with failing_writes(0) as writes:
        train(steps, folder / "counted")
    return writes.count


def check_alike(run: Path, reference: Path) -> None:
    """The same checkpoints are kept, and in each the same state, that of the doctor too, but for the clock."""
    check_sound(run)
    check_same(run, reference)
    assert [path.name for path in checkpoints(run)] == [path.name for path in checkpoints(reference)]
    for ours, theirs in zip(checkpoints(run), checkpoints(reference), strict=True):
        states = [json.loads((folder / "state.json").read_text()) for folder in (ours, theirs)]
        for state in states:
            del state["progress"]["seconds"]
        assert states[0] == states[1]
    findings = [json.loads((folder / "result.json").read_text())["findings"] for folder in (run, reference)]
    assert findings[0] == findings[1]


def check_write_error(number: int, steps: int, folder: Path, reference: Path) -> None:
    """The write of that number fails; then the run is gone on with, if there is one."""
    run = folder / f"run-{number}"
    with failing_writes(number):
        try:
            train(steps, run)
        except GradlabError as error:
            assert "Make room" in str(error), number  # noqa: PT017  (some writes may fail: a folder that is there)
    if run.exists():
        gl.resume(run)
        check_alike(run, reference)


def test_some_writes_that_fail_change_nothing_in_the_end(undisturbed: tuple[int, Path], tmp_path: Path) -> None:
    steps, reference = undisturbed
    count = count_writes(steps, tmp_path)
    assert count > 40
    for number in range(count // 2, count, 5):
        check_write_error(number, steps, tmp_path, reference)


@pytest.mark.slow
def test_no_write_that_fails_changes_anything_in_the_end(undisturbed: tuple[int, Path], tmp_path: Path) -> None:
    steps, reference = undisturbed
    for number in range(1, count_writes(steps, tmp_path) + 1):
        check_write_error(number, steps, tmp_path, reference)
