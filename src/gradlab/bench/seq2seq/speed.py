"""How fast a transformer of pairs trains, beside the usual loop of torch.nn.Transformer."""

import os
import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gradlab.bench.arena import Progress, each, ratios
from gradlab.bench.beside import measured, start
from gradlab.bench.cases import check_rounds
from gradlab.bench.cuda.training import check_same_work
from gradlab.errors import GradlabError
from gradlab.recipe import Recipe

PAIRS, BATCH = 1280, 64
ROUNDS = 3
_WORKER = "gradlab.bench.seq2seq.worker"
_GRADLAB, _USUAL = "gradlab", "torch.nn.Transformer and a DataLoader"
_FAR = 0.25  # shares of a loss: further apart is other work


@dataclass(frozen=True, kw_only=True)
class PairsRow:
    """One training; figures are medians over rounds."""

    title: str
    ratio: float
    """Of the seconds of an epoch to the reference's of the same round."""
    cpu: float
    """The same of the CPU time."""
    seconds: float
    """Of an epoch, the second one."""
    padding: float
    """The share of all tokens that fill up batches."""
    losses: list[float]
    """The mean of each epoch, of the last round."""


@dataclass(frozen=True, kw_only=True)
class PairsTrained:
    """Trainings of the same transformer on the same pairs."""

    title: str
    reference: str
    rounds: int
    parameters: int
    device: str
    versions: str
    rows: list[PairsRow]


def bench_speed(
    recipe: Recipe,
    progress: Progress,
    *,
    rounds: int = ROUNDS,
    pairs: int = PAIRS,
    batch: int = BATCH,
    threads: int | None = None,
    data: Path | None = None,
) -> PairsTrained:
    """The transformer of a recipe by gradlab, and by the usual loop."""
    check_rounds(rounds)
    for name, value in {"pairs": pairs, "threads": 1 if threads is None else threads}.items():
        if value < 1:
            raise GradlabError(f"--{name} must be at least 1, got {value}.")
    if data is not None and not data.is_file():
        raise GradlabError(f"{data} is no file. Name a text file with a pair on each line: --data PAIRS.tsv.")
    work: dict[str, Any] = {"model": recipe.model.values, "pairs": pairs, "batch": min(batch, pairs)}
    work |= {"threads": threads or os.cpu_count() or 1, "path": None if data is None else str(data.absolute())}
    with ExitStack() as stack:
        loops = {_GRADLAB: True, _USUAL: False}
        started = {name: start(_WORKER, name, stack, progress, {**work, "ours": ours}) for name, ours in loops.items()}
        turns = {name: partial(worker.ask, {}) for name, (worker, _) in started.items()}
        answers = measured("speed", turns, rounds, progress, "pairs")
    wall, cpu = (ratios(each(answers, figure), _USUAL) for figure in ("seconds", "cpu"))
    rows = [
        PairsRow(
            title=name,
            ratio=wall[name],
            cpu=cpu[name],
            seconds=statistics.median(one["seconds"] for one in results),
            padding=results[-1]["padding"],
            losses=results[-1]["losses"],
        )
        for name, results in answers.items()
    ]
    check_same_work(rows, _FAR)
    about, parameters = started[_GRADLAB][1], answers[_GRADLAB][-1]["parameters"]
    return PairsTrained(reference=_USUAL, rounds=rounds, parameters=parameters, rows=rows, **about)
