"""Progress of a training, for people: a live bar in a terminal, curves in a notebook, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from gradlab import parallel
from gradlab.inline import inline, notebook_display
from gradlab.markup import Html, join, tag
from gradlab.run.results import TrainingLog
from gradlab.training.loop import Training
from gradlab.training.observers import Line, Observer
from gradlab.wording import count, duration, name_of, number

_PLAIN_LINES = 20  # for a run of any length
_RENEWAL = 0.5  # seconds between two states of a notebook's output


class LiveProgress(Observer):
    """One line that renews itself: step, training loss, validation metric, examples per second, time left."""

    def __init__(self, console: Console):
        self.console = console

    def start(self, training: Training) -> None:
        self.bar = Progress(
            BarColumn(bar_width=10 if self.console.width < 100 else 28),  # the rest of the line takes 68 columns
            TextColumn("{task.completed:>{task.fields[width]}}/{task.total} steps"),
            TextColumn("loss [bold]{task.fields[loss]}[/]"),
            TextColumn("{task.fields[metric]}"),
            _Speed(training),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            console=self.console,
            refresh_per_second=4,  # the display's thread takes the interpreter from the loop as seldom as one can see
        )
        total = training.total_steps
        first = training.progress.step
        shown: dict[str, Any] = {"loss": "…", "metric": "", "width": len(str(total))}
        self.task = self.bar.add_task("", total=total, completed=first, **shown)
        self.bar.start()

    def log(self, training: Training, line: Line) -> None:
        if line["split"] == "train":
            self.bar.update(self.task, completed=line["step"], loss=f"{line['loss']:.4f}")

    def evaluation(self, training: Training, line: Line) -> None:
        if line["step"] == 0:  # of a model that knows nothing; it would stand there for a whole epoch
            return
        name = training.task.headline
        if name in line:
            self.bar.update(self.task, metric=f"{name} [bold]{line[name]:.4f}[/]")

    def rewind(self, training: Training) -> None:
        self.bar.update(self.task, completed=training.progress.step)

    def end(self, training: Training) -> None:
        self.bar.update(self.task, completed=training.progress.step)
        self.bar.stop()


class _Speed(ProgressColumn):
    def __init__(self, training: Training):
        super().__init__(Column(no_wrap=True))
        self.training, self.began, self.first = training, time.perf_counter(), training.progress.step

    def render(self, task: Task) -> Text:
        steps = self.training.progress.step - self.first
        rate = steps / max(time.perf_counter() - self.began, 1e-9)
        size = self.training.stream.batch_size
        return Text(f"{count(rate * size)} examples/s" if size else f"{count(rate)} steps/s")


class NotebookProgress(Observer):
    """A line and the curves below the cell of a notebook, which are renewed in place."""

    def __init__(self, display: Callable[..., Any]):
        self.display, self.lines = display, TrainingLog()

    def start(self, training: Training) -> None:
        self.lines.clear()
        self.ended = ""
        self.began, self.first, self.shown = time.perf_counter(), training.progress.step, time.perf_counter()
        self.handle = self.display(self._content(training), raw=True, display_id=True)

    def log(self, training: Training, line: Line) -> None:
        self.lines.append({key: value for key, value in line.items() if key != "update_ratio"})
        if time.perf_counter() - self.shown >= _RENEWAL:
            self._renew(training)

    def end(self, training: Training) -> None:
        self.ended = training.progress.ended or "stopped"  # in the middle of a step
        self._renew(training)

    def _renew(self, training: Training) -> None:
        self.shown = time.perf_counter()
        self.handle.update(self._content(training), raw=True)

    def _content(self, training: Training) -> dict[str, str]:
        text = " · ".join(self._facts(training))
        share = {"max": str(training.total_steps), "value": str(training.progress.step)}
        bar = tag("progress", **share) if not self.ended else Html()
        return {"text/plain": text, "text/html": inline("", join([bar, " ", text]), self.lines.charts())}

    def _facts(self, training: Training) -> Iterator[str]:
        step, seconds = training.progress.step, time.perf_counter() - self.began
        ended = f"{self.ended}, " if self.ended else ""
        yield f"{ended}step {step:,} of {training.total_steps:,}"
        name = training.task.headline
        evaluated = next((line for line in reversed(self.lines) if line["split"] == "validation" and name in line), {})
        if evaluated:
            yield f"validation {name_of(name)} {number(evaluated[name])}"
        if self.ended or step == self.first:
            yield duration(seconds)
        else:
            yield f"about {duration(seconds * (training.total_steps - step) / (step - self.first))} left"


def default_progress() -> list[Observer]:
    """What a call shows: in a notebook curves below the cell, in a terminal a line on stderr, elsewhere nothing."""
    if parallel.rank():
        return []
    display = notebook_display()
    if display is not None:
        return [NotebookProgress(display)]
    return [LiveProgress(Console(stderr=True))] if sys.stderr is not None and sys.stderr.isatty() else []


class PlainProgress(Observer):
    """A line of text now and then, without control codes."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def start(self, training: Training) -> None:
        self.interval = max(1, training.total_steps // _PLAIN_LINES)
        self.next = training.progress.step + self.interval
        self.loss = ""
        if training.progress.step:
            self._print(f"resuming at step {training.progress.step} of {training.total_steps}")

    def log(self, training: Training, line: Line) -> None:
        if line["split"] == "train":
            self.loss = f"loss {line['loss']:.4f}"
            if training.validation is None:
                self._report(training, "")

    def evaluation(self, training: Training, line: Line) -> None:
        shown = ("loss", *training.task.figure_names[:2])
        figures = ", ".join(f"{name} {line[name]:.4f}" for name in shown if name in line)
        self._report(training, f"validation {figures}")

    def rewind(self, training: Training) -> None:
        self.next = training.progress.step + self.interval

    def _report(self, training: Training, text: str) -> None:
        step = training.progress.step
        if step >= self.next or step == training.total_steps:
            self.next = step + self.interval
            self._print(" | ".join(filter(None, (f"step {step}/{training.total_steps}", self.loss, text))))

    def _print(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()
