"""gradlab beside the usual loop of the same network: each in a process of its own, compared only for equal work."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from gradlab.bench.arena import Answers, Progress, Turns, in_rounds
from gradlab.bench.processes import Worker, WorkerFailed
from gradlab.errors import GradlabError


def start(
    module: str, title: str, stack: ExitStack, progress: Progress, work: dict[str, Any]
) -> tuple[Worker, dict[str, str]]:
    """A process that has its data, and what it says of where it is."""
    progress(f"starting {title}")
    worker = stack.enter_context(Worker(module))
    try:
        return worker, worker.ask(work)
    except WorkerFailed as error:
        raise GradlabError(f"{title} failed: {error}") from None


def measured(title: str, turns: Turns, rounds: int, progress: Progress, what: str) -> Answers:
    """Round by round; `what` is the figure that counts the examples of a training."""

    def failed(name: str, error: WorkerFailed) -> None:
        raise GradlabError(f"{name} failed: {error}")

    answers = in_rounds(title, turns, rounds, progress, failed)
    check_equal_work(answers, what)
    return answers


def check_equal_work(answers: Mapping[str, Sequence[Mapping[str, Any]]], what: str) -> None:
    """Refuse to compare trainings of other networks, or of more examples."""
    works = {name: {(one[what], one["parameters"]) for one in results} for name, results in answers.items()}
    first, *others = works
    for name in others:
        if works[name] != works[first]:
            said = [" and ".join(f"{n:,} {what} by {w:,} weights" for n, w in works[one]) for one in (name, first)]
            raise GradlabError(
                f"{name} does other work than {first}: {said[0]}, not {said[1]}. They cannot be compared."
            )
