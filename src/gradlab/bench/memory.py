"""How long networks remember: generated tasks at growing delays, each model with the same small budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradlab.bench.arena import Progress
from gradlab.bench.seq2seq.lengths import check_steps
from gradlab.bench.trainings import trained
from gradlab.errors import GradlabError, unknown
from gradlab.recipe import Recipe
from gradlab.registry import Part

DELAYS = (5, 10, 20, 50, 100, 200)
STEPS = 300
SOLVED = 0.9
CELLS = {"RNN": "rnn", "LSTM": "lstm", "GRU": "gru"}
TRANSFORMER = "transformer"


@dataclass(frozen=True, kw_only=True)
class MemoryTask:
    """A task whose answer lies as many steps back as its delay says; of sums, at most as many."""

    title: str
    recipe: str
    figure: str
    """Of the test split: 1 where it is solved, 0 where nothing is known."""
    delay: str
    """The knob of the data that says it."""
    changes: Mapping[str, Any]
    """Of the recipe, for all models."""
    transformer: Part
    context: str | None = None
    """The knob that must be as large as the longest text."""
    more: int = 0
    """Tokens of a text beside its delay."""


_SIZES = {"layers": 2, "heads": 4, "dim": 32}
TASKS = {
    "recall": MemoryTask(
        title="Delayed recall: the first of eight symbols",
        recipe="recall-rnn",
        figure="accuracy",
        delay="data.delay",
        changes={"data.examples": 4000},
        transformer=Part("bert-classifier", {**_SIZES, "pooling": "mean", "norm_first": True}),
        context="data.context",
        more=1,
    ),
    "copy": MemoryTask(
        title="Copying three symbols, one vector between encoder and decoder",
        recipe="copy-seq2seq",
        figure="exact_match",
        delay="data.delay",
        changes={
            "data.examples": 4000,
            "data.shortest": 3,
            "data.longest": 3,
            "model.attention": "none",
            "model.bidirectional": False,  # what is read from its end has no delay before it
            "model.dim": 32,
            "model.hidden": 64,
            "train.lr": 5e-3,
        },
        transformer=Part("seq2seq-transformer", _SIZES),
        context="data.context",
        more=5,
    ),
    "adding": MemoryTask(
        title="The sum of two marked numbers of a series",
        recipe="adding-rnn",
        figure="r2",
        delay="data.length",
        changes={"data.examples": 4000},
        transformer=Part("series-transformer", _SIZES),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """One model of a task."""

    title: str
    parameters: int
    """At the longest delay."""
    figures: list[float]
    """By delay."""
    span: int | None
    """The longest delay up to which all were solved; None where the shortest was not."""
    seconds: float
    """Of all its trainings."""


@dataclass(frozen=True, kw_only=True)
class MemorySpans:
    """All models of a task, trained alike."""

    data: str
    title: str
    figure: str
    solved: float
    steps: int
    batch: int
    delays: list[int]
    rows: list[Remembered]


def check_memory_tasks(names: Sequence[str], delays: Sequence[int], steps: int) -> None:
    for name in names:
        if name not in TASKS:
            raise unknown("memory task", name, TASKS)
    check_steps(steps)
    if min(delays) < 2:
        raise GradlabError(f"A delay must be at least 2, got {min(delays)}.")


def bench_memory(
    name: str,
    recipe: Recipe,
    progress: Progress,
    delays: Sequence[int] = DELAYS,
    steps: int = STEPS,
    changes: Mapping[str, Any] | None = None,
) -> MemorySpans:
    """Train each model once at each delay; `recipe` is that of the task, and `changes` are values of it."""
    check_memory_tasks([name], delays, steps)
    task, ordered = TASKS[name], sorted(set(delays))
    rows = []
    for title in [*CELLS, TRANSFORMER]:
        results = []
        for delay in ordered:
            progress(f"{name}: {title}, delay {delay}")
            with trained(recipe, changes_for(task, title, delay, steps) | dict(changes or {})) as (_, result):
                results.append(result)
        figures = [float(result["test"][task.figure]) for result in results]
        rows.append(
            Remembered(
                title=title,
                parameters=results[-1]["parameters"],
                figures=figures,
                span=span(dict(zip(ordered, figures, strict=True))),
                seconds=sum(result["seconds"] for result in results),
            )
        )
    about = {"title": task.title, "figure": task.figure, "batch": recipe.train["batch_size"]}
    return MemorySpans(data=name, solved=SOLVED, steps=steps, delays=ordered, rows=rows, **about)


def changes_for(task: MemoryTask, title: str, delay: int, steps: int) -> dict[str, Any]:
    """Of the recipe of the task, for one model at a delay."""
    changes = {**task.changes, task.delay: delay, "train.steps": steps, "train.evaluate_every": steps}
    if task.context is not None:
        changes[task.context] = delay + task.more
    if title == TRANSFORMER:
        changes = {path: value for path, value in changes.items() if not path.startswith("model.")}
        return {**changes, "model": task.transformer, "train.lr": 1e-3}
    return {**changes, "model.cell": CELLS[title]}


def span(figures: Mapping[int, float]) -> int | None:
    """The longest delay up to which every one was solved.

    >>> span({5: 1.0, 10: 0.95, 20: 0.2, 50: 0.99}), span({5: 0.1})
    (10, None)
    """
    longest = None
    for delay, figure in sorted(figures.items()):
        if figure < SOLVED:
            break
        longest = delay
    return longest
