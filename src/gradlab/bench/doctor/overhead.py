"""What the doctor costs a training: the same script with and without it, in processes that take turns."""

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gradlab.bench.arena import Progress
from gradlab.bench.cases import check_rounds
from gradlab.bench.processes import call


@dataclass(frozen=True, kw_only=True)
class _Loop:
    title: str
    steps: int
    bar: float


_LOOPS = {
    "mlp": _Loop(title="MLP 784-512-512-10, batch 64, Adam", steps=2000, bar=1.3),
    "cnn": _Loop(title="CNN of three convolutions, batch 64, SGD", steps=100, bar=1.1),
}


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """One training; ratios are medians over rounds of the time with the doctor to the time without."""

    loop: str
    title: str
    steps: int
    wall: float
    cpu: float
    process: float
    """Of the whole process: with its imports, the probes after the script's end, and the report."""
    plain: float
    """Seconds of the loop without the doctor, the least of all rounds."""
    bar: float
    """What `wall` must not exceed."""
    same: bool
    """Whether the last loss was the same, bit for bit, in all runs."""


def bench_doctor_overhead(rounds: int, progress: Progress) -> list[Overhead]:
    """Every run is a process of its own; which of the two comes first changes from round to round."""
    check_rounds(rounds)
    with tempfile.TemporaryDirectory(prefix="gradlab-doctor-") as folder:
        script = shutil.copy(Path(__file__).with_name("loops.py"), Path(folder) / "train.py")
        return [_measure(name, loop, str(script), rounds, progress) for name, loop in _LOOPS.items()]


def _measure(name: str, loop: _Loop, script: str, rounds: int, progress: Progress) -> Overhead:
    commands = {"plain": [script], "doctor": ["-m", "gradlab", "doctor", "--exit-code", "script", script]}
    runs: dict[str, list[dict[str, float]]] = {"plain": [], "doctor": []}
    for number in range(1, rounds + 1):
        progress(f"{name}: round {number} of {rounds}")
        for kind in ("plain", "doctor") if number % 2 else ("doctor", "plain"):
            runs[kind].append(_run([*commands[kind], name, str(loop.steps)]))
    ratios = {key: _ratio(key, runs["doctor"], runs["plain"]) for key in ("wall", "cpu", "process")}
    return Overhead(
        loop=name,
        title=loop.title,
        steps=loop.steps,
        **ratios,
        plain=min(run["wall"] for run in runs["plain"]),
        bar=loop.bar,
        same=len({run["loss"] for kind in runs.values() for run in kind}) == 1,
    )


def _run(arguments: Sequence[str]) -> dict[str, float]:
    began = time.perf_counter()
    printed = call(arguments)
    return {**json.loads(printed.splitlines()[-1]), "process": time.perf_counter() - began}


def _ratio(key: str, some: Sequence[dict[str, float]], others: Sequence[dict[str, float]]) -> float:
    return statistics.median(a[key] / b[key] for a, b in zip(some, others, strict=True))
