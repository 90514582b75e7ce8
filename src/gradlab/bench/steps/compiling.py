"""What compiling gradlab's step costs once and saves each time, for the rule in training/capture.py."""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from gradlab.bench.arena import Progress
from gradlab.bench.cases import CASES, check_cases, check_rounds
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError


@dataclass(frozen=True, kw_only=True)
class Compiling:
    """One case, in seconds; those per step are medians over rounds."""

    case: str
    title: str
    compile: float
    """The first compiled step, with nothing cached, less an eager one."""
    recompile: float
    """The first step on a batch of another size, as the last of an epoch is, less an eager one."""
    eager_step: float
    compiled_step: float
    pays_after: float | None
    """Steps until the cost is recovered; None where a compiled step is no faster."""


def bench_compile(cases: Sequence[str], rounds: int, progress: Progress) -> list[Compiling]:
    """Compile each case's step in a new process, then run eager and compiled steps in turn."""
    check_rounds(rounds)
    check_cases(cases, CASES)
    return [_measure(name, rounds, progress) for name in cases]


def _measure(name: str, rounds: int, progress: Progress) -> Compiling:
    case = CASES[name]
    with (
        tempfile.TemporaryDirectory(prefix="gradlab-bench-") as cache,
        Worker("gradlab.bench.steps.compiling_worker", TORCHINDUCTOR_CACHE_DIR=cache) as worker,
    ):
        try:
            progress(f"{name}: compiling")
            cost = worker.ask(asdict(case))
            steps = []
            for number in range(1, rounds + 1):
                progress(f"{name}: round {number} of {rounds}")
                steps.append(worker.ask({}))
        except WorkerFailed as error:
            raise GradlabError(f"The step of {name!r} could not be compiled: {error}") from None
    eager, compiled = (statistics.median(s[kind] for s in steps) for kind in ("eager", "compiled"))
    return Compiling(
        case=name,
        title=case.title,
        compile=cost["compile"],
        recompile=cost["recompile"],
        eager_step=eager,
        compiled_step=compiled,
        pays_after=pays_after(cost["compile"] + cost["recompile"], eager, compiled),
    )


def pays_after(cost: float, eager: float, compiled: float) -> float | None:
    """Steps after which compiling has paid for itself.

    >>> pays_after(30.0, 0.003, 0.001)
    15000.0
    """
    return round(cost / (eager - compiled), 0) if compiled < eager else None
