"""How fast a variational autoencoder trains, beside the usual loop of torch.distributions."""

import os
import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from gradlab.bench.arena import Progress, each, faster, ratios
from gradlab.bench.beside import measured, start
from gradlab.bench.cases import check_rounds
from gradlab.bench.cuda.training import check_same_work
from gradlab.wording import counted

SIZES: dict[str, int] = {"hidden": 400, "latent": 20, "rows": 12_800, "batch": 128, "steps": 400}
"""Of the network, pictures that are generated, those of a step, and steps of each training."""
ROUNDS = 5
_WORKER = "gradlab.bench.vae.worker"
_GRADLAB, _USUAL = "gradlab", "DataLoader and torch.distributions"
_FAR = 0.03  # shares of a loss, from the same weights by other draws: further apart is other work


@dataclass(frozen=True, kw_only=True)
class VAERow:
    """One training; figures are medians over rounds."""

    title: str
    ratio: float
    """Of its step's time to the reference's of the same round."""
    cpu: float
    """The same of the CPU time."""
    milliseconds: float
    """A step, over the second half of the steps."""
    pictures_per_second: float
    losses: list[float]
    """The mean of each half of the steps, of the last round."""


@dataclass(frozen=True, kw_only=True)
class VAETrained:
    """Trainings of the same network on the same pictures."""

    title: str
    reference: str
    rounds: int
    parameters: int
    device: str
    versions: str
    rows: list[VAERow]


def bench_vae(progress: Progress, *, rounds: int = ROUNDS, **sizes: int) -> VAETrained:
    """gradlab with the threads that it chooses, beside the usual loop with one and with all; `sizes` are others."""
    check_rounds(rounds)
    size = SIZES | sizes
    usual = {f"{_USUAL}, {counted(n, 'thread')}": n for n in sorted({1, os.cpu_count() or 1})}
    with ExitStack() as stack:
        loops: dict[str, int | None] = {_GRADLAB: None, **usual}
        started = {
            title: start(_WORKER, title, stack, progress, {**size, "threads": threads})
            for title, threads in loops.items()
        }
        turns = {title: partial(worker.ask, {}) for title, (worker, _) in started.items()}
        answers = measured("training", turns, rounds, progress, "pictures")
    reference = faster(each(answers, "milliseconds"), list(usual))
    wall, cpu = (ratios(each(answers, f"{kind}milliseconds"), reference) for kind in ("", "cpu_"))
    rows = [
        VAERow(title=name, ratio=wall[name], cpu=cpu[name], losses=results[-1]["losses"], **_medians(results))
        for name, results in answers.items()
    ]
    check_same_work(rows, _FAR)
    title = f"784-{size['hidden']}-{size['latent']}, batch {size['batch']}, {counted(size['steps'], 'step')}"
    about, parameters = started[_GRADLAB][1], answers[_GRADLAB][-1]["parameters"]
    return VAETrained(title=title, reference=reference, rounds=rounds, parameters=parameters, rows=rows, **about)


def _medians(results: list[dict[str, Any]]) -> dict[str, float]:
    return {
        figure: statistics.median(one[figure] for one in results) for figure in ("milliseconds", "pictures_per_second")
    }
