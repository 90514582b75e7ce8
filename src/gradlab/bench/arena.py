"""Contestants train in turn, in a new order each round, and are compared with the reference of the same round."""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from gradlab.bench.cases import CASES, TEXT_CASES, Case, check_cases, check_rounds
from gradlab.bench.contestants import ENTRIES, TEXT_ENTRIES, Entry, entries
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError, unknown

Progress = Callable[[str], None]
Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A contestant in one case; `wall` and `cpu` are medians over the rounds of its ratio to the reference."""

    contestant: str
    title: str
    wall: float
    cpu: float
    seconds: float
    """The least of all rounds."""
    steps: int
    loss: float
    """Mean cross-entropy over the training data at the end: equal work shows here."""
    wall_rounds: list[float]
    cpu_rounds: list[float]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One case: its contestants, the fastest first, and why others are not in it."""

    case: str
    title: str
    steps: int
    batch_size: int
    optimizer: str
    rounds: int
    reference: str
    rows: list[Row]
    absent: dict[str, str]


def bench_train(
    cases: Sequence[str], rounds: int, progress: Progress, contestants: Sequence[str] | None = None
) -> list[Table]:
    """Train each case with each contestant `rounds` times. The reference is always among them."""
    every_case, every_name = CASES | TEXT_CASES, ENTRIES | TEXT_ENTRIES
    check_cases(cases, every_case)
    for name in contestants or ():
        if name not in every_name:
            raise unknown("contestant", name, every_name)
    return [compete(every_case[name], rounds, progress, contestants) for name in cases]


def compete(case: Case, rounds: int, progress: Progress, contestants: Sequence[str] | None = None) -> Table:
    """The table of one case."""
    check_rounds(rounds)
    entered = {
        name: entry
        for name, entry in entries(case).items()
        if contestants is None or name in contestants or entry.reference
    }
    with ExitStack() as stack:
        workers, absent = _set_up(case, entered, stack, progress)
        answers = _rounds(case, entered, workers, absent, rounds, progress)
    wall = {name: [a["seconds"] for a in found] for name, found in answers.items()}
    cpu = {name: [a["cpu"] for a in found] for name, found in answers.items()}
    reference = faster(wall, [name for name in answers if entered[name].reference])
    walls, cpus = ratios(wall, reference), ratios(cpu, reference)
    rows = [
        Row(
            contestant=name,
            title=entered[name].title,
            wall=walls[name],
            cpu=cpus[name],
            seconds=min(wall[name]),
            steps=int(found[-1]["steps"]),
            loss=found[-1]["loss"],
            wall_rounds=wall[name],
            cpu_rounds=cpu[name],
        )
        for name, found in answers.items()
    ]
    return Table(
        case=case.name,
        title=case.title,
        steps=case.steps,
        batch_size=case.batch_size,
        optimizer=case.optimizer,
        rounds=rounds,
        reference=reference,
        rows=sorted(rows, key=lambda row: row.wall),
        absent=absent,
    )


def faster(samples: Samples, candidates: Sequence[str]) -> str:
    """The candidate with the least median.

    >>> faster({"a": [1, 9, 9], "b": [2, 2, 2]}, ["a", "b"])
    'b'
    """
    return min(candidates, key=lambda name: statistics.median(samples[name]))


def ratios(samples: Samples, reference: str) -> dict[str, float]:
    """For each contestant the median, over the rounds, of its ratio to the reference of the same round.

    >>> ratios({"a": [1, 2, 4], "b": [2, 2, 2]}, "b")
    {'a': 1.0, 'b': 1.0}
    """
    beside = samples[reference]
    return {
        name: statistics.median(own / other for own, other in zip(found, beside, strict=True))
        for name, found in samples.items()
    }


def _set_up(
    case: Case, entered: Mapping[str, Entry], stack: ExitStack, progress: Progress
) -> tuple[dict[str, Worker], dict[str, str]]:
    """A warmed-up process for each contestant, and the reason where there is none."""
    workers: dict[str, Worker] = {}
    absent: dict[str, str] = {}
    for name, entry in entered.items():
        if not entry.installed:
            absent[name] = f"{entry.requires} is not installed"
            continue
        progress(f"{case.name}: starting {entry.title}")
        worker = stack.enter_context(Worker("gradlab.bench.worker"))
        try:
            worker.ask({"contestant": name, "case": asdict(case)})
            workers[name] = worker
        except WorkerFailed as error:
            absent[name] = _failure(name, entry, error)
    return workers, absent


def _rounds(
    case: Case,
    entered: Mapping[str, Entry],
    workers: dict[str, Worker],
    absent: dict[str, str],
    rounds: int,
    progress: Progress,
) -> dict[str, list[dict[str, float]]]:
    answers: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    shuffle = random.Random(0).shuffle  # noise that comes and goes with time hits everybody alike
    for number in range(1, rounds + 1):
        progress(f"{case.name}: round {number} of {rounds}")
        order = list(answers)
        shuffle(order)
        for name in order:
            try:
                answers[name].append(workers[name].ask({}))
            except WorkerFailed as error:
                absent[name] = _failure(name, entered[name], error)
                del answers[name]
    return answers


def _failure(name: str, entry: Entry, error: WorkerFailed) -> str:
    """A peer that breaks is said; without the reference there is nothing to compare with."""
    if entry.reference:
        raise GradlabError(f"The contestant {name!r} failed: {error}")
    return f"failed: {error}"
