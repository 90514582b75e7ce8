"""How long until something has been learned: from the start of a process to the end of its first training step."""

import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gradlab.bench.arena import Progress, ratios
from gradlab.bench.cases import check_rounds
from gradlab.bench.processes import call


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """Arguments of Python that train one step, and the file in the given folder that is written after it."""

    title: str
    command: Callable[[Path], list[str]]
    stamp: str


_TRAIN = ["-m", "gradlab", "train", "digits-mlp", "train.steps=1", "--plain"]

ENTRANTS = {
    # The log's last line comes after the first validation too, which the tutorial has none of.
    "gradlab": Entrant(
        title="gradlab train digits-mlp train.steps=1",
        command=lambda folder: [*_TRAIN, "--out", f"{folder}/run"],
        stamp="run/metrics.jsonl",
    ),
    "tutorial": Entrant(
        title="tutorial script",
        command=lambda folder: ["-m", "gradlab.bench.steps.first_step", f"{folder}/loss.txt"],
        stamp="loss.txt",
    ),
}


@dataclass(frozen=True, kw_only=True)
class StartRow:
    """Ratios to the tutorial's script, medians over rounds: to the first step, and CPU of the whole process."""

    contestant: str
    title: str
    wall: float
    cpu: float
    seconds: float
    """To the end of the first step; the least of all rounds."""
    wall_rounds: list[float]
    cpu_rounds: list[float]


def bench_start(rounds: int, progress: Progress) -> list[StartRow]:
    """Start each entrant `rounds` times, in a new order each round, after one start that does not count."""
    check_rounds(rounds)
    wall: dict[str, list[float]] = {name: [] for name in ENTRANTS}
    cpu: dict[str, list[float]] = {name: [] for name in ENTRANTS}
    shuffle = random.Random(0).shuffle
    for number in range(rounds + 1):  # the first brings files into memory and byte code onto the disk
        progress(f"start: round {number} of {rounds}" if number else "start: warming up")
        order = list(ENTRANTS)
        shuffle(order)
        for name in order:
            seconds, cpu_seconds = first_step(ENTRANTS[name])
            if number:
                wall[name].append(seconds)
                cpu[name].append(cpu_seconds)
    walls, cpus = ratios(wall, "tutorial"), ratios(cpu, "tutorial")
    return [
        StartRow(
            contestant=name,
            title=entrant.title,
            wall=walls[name],
            cpu=cpus[name],
            seconds=min(wall[name]),
            wall_rounds=wall[name],
            cpu_rounds=cpu[name],
        )
        for name, entrant in ENTRANTS.items()
    ]


def first_step(entrant: Entrant) -> tuple[float, float]:
    """Wall seconds to the first step and CPU seconds of the whole process."""
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        used, began = _children_cpu(), time.time_ns()
        call(entrant.command(Path(folder)))
        ended = (Path(folder) / entrant.stamp).stat().st_mtime_ns
        return (ended - began) / 1e9, _children_cpu() - used


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system
