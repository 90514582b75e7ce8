"""gradlab beside another checkout of itself, in the same rounds: what a change costs, or that it costs nothing."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gradlab.bench.arena import Participant, Progress, Table, tabulate, take_turns
from gradlab.bench.cases import CASES, TEXT_CASES, Case, check_cases, check_rounds
from gradlab.bench.processes import WorkerFailed, call
from gradlab.errors import GradlabError

HERE, THERE = "gradlab", "checkout"

_CONTESTANT = "gradlab"  # with all observers: what a user runs
_OWN_SOURCE = Path(__file__).resolve().parents[2]


def bench_against(cases: Sequence[str], checkout: Path, rounds: int, progress: Progress) -> list[Table]:
    """Train each case `rounds` times with the gradlab that runs and with the one in `checkout`, the reference."""
    every_case = CASES | TEXT_CASES
    check_cases(cases, every_case)
    check_rounds(rounds)
    both = participants(checkout)
    return [compare(every_case[name], both, rounds, progress) for name in cases]


def participants(checkout: Path) -> dict[str, Participant]:
    """The gradlab that runs, and the one in `checkout`."""
    source = _source(checkout)
    variables = _importing_from(source)
    _check_imported(_OWN_SOURCE, {})
    _check_imported(source, variables)
    return {
        HERE: Participant(title="this gradlab", contestant=_CONTESTANT),
        THERE: Participant(title=f"gradlab in {checkout}", contestant=_CONTESTANT, variables=variables),
    }


def compare(case: Case, both: Mapping[str, Participant], rounds: int, progress: Progress) -> Table:
    """The table of one case."""

    def failed(name: str, error: WorkerFailed) -> None:
        raise GradlabError(f"The case {case.name!r} failed with {both[name].title}: {error}")

    answers = take_turns(case, both, rounds, progress, failed)
    return tabulate(case, both, answers, THERE, absent={})


def _source(checkout: Path) -> Path:
    """The folder that Python can import the checkout's gradlab from."""
    if not checkout.is_dir():
        raise GradlabError(f"--against needs a folder with another checkout of gradlab: {checkout} is not a folder.")
    source = checkout.resolve() / "src"
    if not (source / "gradlab" / "__init__.py").is_file():
        raise GradlabError(f"{checkout} is not a checkout of gradlab: it has no src/gradlab.")
    return source


def _importing_from(source: Path) -> dict[str, str]:
    others = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(source), others] if others else [str(source)])}


def _check_imported(source: Path, variables: Mapping[str, str]) -> None:
    """Refuse to measure a gradlab that is not the one meant: the current folder comes before any variable's."""
    script = "import importlib.util; print(importlib.util.find_spec('gradlab').origin)"
    imported = Path(call(["-c", script], **variables).strip()).resolve()
    if imported != (source / "gradlab" / "__init__.py").resolve():
        raise GradlabError(
            f"The gradlab in {source} cannot be measured: from here, Python imports {imported.parent}. "
            "Run the command in another folder."
        )
