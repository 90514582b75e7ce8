"""Contestants train in turn, in a new order each round, and are compared with the reference of the same round."""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from gradlab.bench.cases import CASES, TEXT_CASES, Case, check_cases, check_rounds
from gradlab.bench.contestants import ENTRIES, TEXT_ENTRIES, entries
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError, unknown

Progress = Callable[[str], None]
Samples = Mapping[str, Sequence[float]]
Answers = dict[str, list[dict[str, Any]]]
"""What each participant's worker answered, round by round."""
Turns = Mapping[str, Callable[[], dict[str, Any]]]
"""How each participant is asked to train once."""
Failed = Callable[[str, WorkerFailed], None]
"""Called with who failed, and how; unless it raises, the others go on."""


@dataclass(frozen=True, kw_only=True)
class Participant:
    """A contestant in a process of its own."""

    title: str
    contestant: str
    """The name that its worker knows it by."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of its process's environment, beside those that all have."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A contestant in one case; `wall` and `cpu` are medians over the rounds of its ratio to the reference."""

    contestant: str
    title: str
    wall: float
    cpu: float
    cpu_quartiles: tuple[float, float]
    """Half of the rounds have a CPU ratio between them."""
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
    participants = {
        name: Participant(title=one.title, contestant=name) for name, one in entered.items() if one.installed
    }
    absent = {name: f"{one.requires} is not installed" for name, one in entered.items() if not one.installed}

    def failed(name: str, error: WorkerFailed) -> None:
        """A peer that breaks is said; without the reference there is nothing to compare with."""
        if entered[name].reference:
            raise GradlabError(f"The contestant {name!r} failed: {error}")
        absent[name] = f"failed: {error}"

    answers = take_turns(case, participants, rounds, progress, failed)
    references = [name for name in answers if entered[name].reference]
    return tabulate(case, participants, answers, faster(each(answers, "seconds"), references), absent)


def take_turns(
    case: Case, participants: Mapping[str, Participant], rounds: int, progress: Progress, failed: Failed
) -> Answers:
    """Let each train once a round, in a new order each round; without those that broke."""
    with ExitStack() as stack:
        workers = _set_up(case, participants, stack, progress, failed)
        turns = {name: partial(worker.ask, {}) for name, worker in workers.items()}
        return in_rounds(case.name, turns, rounds, progress, failed)


def in_rounds(title: str, turns: Turns, rounds: int, progress: Progress, failed: Failed) -> Answers:
    """Each once a round, in a new order each round: noise that comes and goes with time hits everybody alike."""
    answers: Answers = {name: [] for name in turns}
    shuffle = random.Random(0).shuffle
    for number in range(1, rounds + 1):
        progress(f"{title}: round {number} of {rounds}")
        order = list(answers)
        shuffle(order)
        for name in order:
            try:
                answers[name].append(turns[name]())
            except WorkerFailed as error:
                failed(name, error)
                del answers[name]
    return answers


def tabulate(
    case: Case, participants: Mapping[str, Participant], answers: Answers, reference: str, absent: dict[str, str]
) -> Table:
    """Everybody's figures as ratios to the reference's."""
    wall, cpu = each(answers, "seconds"), each(answers, "cpu")
    walls, cpus = ratios(wall, reference), ratios(cpu, reference)
    rows = [
        Row(
            contestant=name,
            title=participants[name].title,
            wall=walls[name],
            cpu=cpus[name],
            cpu_quartiles=quartiles(ratios_by_round(cpu[name], cpu[reference])),
            seconds=min(wall[name]),
            steps=int(results[-1]["steps"]),
            loss=results[-1]["loss"],
            wall_rounds=wall[name],
            cpu_rounds=cpu[name],
        )
        for name, results in answers.items()
    ]
    return Table(
        case=case.name,
        title=case.title,
        steps=case.steps,
        batch_size=case.batch_size,
        optimizer=case.optimizer,
        rounds=len(answers[reference]),
        reference=reference,
        rows=sorted(rows, key=lambda row: row.wall),
        absent=absent,
    )


def each(answers: Answers, figure: str) -> dict[str, list[float]]:
    """One figure of everybody, round by round."""
    return {name: [answer[figure] for answer in results] for name, results in answers.items()}


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
    return {name: statistics.median(ratios_by_round(own, samples[reference])) for name, own in samples.items()}


def ratios_by_round(own: Sequence[float], reference: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(own, reference, strict=True)]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper one; of a single value, itself.

    >>> quartiles([5, 1, 2, 4, 3]), quartiles([7])
    ((2.0, 4.0), (7, 7))
    """
    if len(values) == 1:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper


def _set_up(
    case: Case, participants: Mapping[str, Participant], stack: ExitStack, progress: Progress, failed: Failed
) -> dict[str, Worker]:
    """A warmed-up process for each."""
    workers: dict[str, Worker] = {}
    for name, one in participants.items():
        progress(f"{case.name}: starting {one.title}")
        worker = stack.enter_context(Worker("gradlab.bench.worker", **one.variables))
        try:
            worker.ask({"contestant": one.contestant, "case": _without_defaults(case)})
            workers[name] = worker
        except WorkerFailed as error:
            failed(name, error)
    return workers


def _without_defaults(case: Case) -> dict[str, Any]:
    """A case without what has its default: the worker of an older gradlab has no such field, and does just that."""
    values = {one.name: (getattr(case, one.name), one.default) for one in fields(case)}
    return {name: value for name, (value, default) in values.items() if value != default}
