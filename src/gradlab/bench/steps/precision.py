"""What mixed precision saves on this CPU, for the rule in training/checks.py."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gradlab.bench.arena import Progress
from gradlab.bench.cases import CASES, check_cases, check_rounds
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError


@dataclass(frozen=True, kw_only=True)
class Precision:
    """One case; seconds per step are medians over rounds."""

    case: str
    title: str
    float32: float
    bf16: float
    ratio: float
    """The median over rounds of a bf16 step's time to a float32 step's: below 1, bf16 is faster."""


def bench_precision(cases: Sequence[str], rounds: int, progress: Progress) -> list[Precision]:
    """Time float32 and bf16 steps of each case in turn, in one process, with the threads a training would have."""
    check_rounds(rounds)
    check_cases(cases, CASES)
    return [_measure(name, rounds, progress) for name in cases]


def _measure(name: str, rounds: int, progress: Progress) -> Precision:
    case = CASES[name]
    seconds = []
    with Worker("gradlab.bench.steps.precision_worker") as worker:
        try:
            worker.ask(asdict(case))
            for number in range(1, rounds + 1):
                progress(f"{name}: round {number} of {rounds}")
                seconds.append(worker.ask({}))
        except WorkerFailed as error:
            raise GradlabError(f"The step of {name!r} could not be measured: {error}") from None
    return Precision(
        case=name,
        title=case.title,
        float32=statistics.median(s["float32"] for s in seconds),
        bf16=statistics.median(s["bf16"] for s in seconds),
        ratio=statistics.median(s["bf16"] / s["float32"] for s in seconds),
    )
