"""`gradlab doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import Parameter

from gradlab.errors import GradlabError, notice, one_line
from gradlab.files import json_text, write_file

if TYPE_CHECKING:
    from gradlab.diagnosis.script import Outcome

_WITH_A_VALUE = ("--steps", "--json", "--html", "--exit-code")
_MODULE = ("-m", "--module")


def doctor(
    script: str,
    /,
    *arguments: str,
    module: Annotated[bool, Parameter(name=_MODULE, show_default=False)] = False,
    steps: int | None = None,
    deep: Annotated[bool, Parameter(show_default=False)] = False,
    live: Annotated[bool, Parameter(show_default=False)] = False,
    json_file: Annotated[str | None, Parameter(name="--json")] = None,
    html: str | None = None,
    exit_code: Literal["findings", "script"] = "findings",
) -> None:
    """Run a training script of PyTorch, unchanged, and say what is wrong with the training, with evidence and a fix.

    Examples to copy:

    - `gradlab doctor train.py --epochs 3`: options of the doctor come before the script, what follows is the script's
    - `gradlab doctor --steps 500 train.py`: stop it after 500 steps of its optimisers
    - `gradlab doctor --html doctor.html --json doctor.json train.py`
    - `gradlab doctor --live train.py`: a line as soon as something is certainly wrong, while the script still runs
    - `gradlab doctor -m package.train --epochs 3`: a module, as `python -m` runs it
    - `torchrun --nproc-per-node 2 -m gradlab doctor train.py`: several processes, one report

    The script prints and computes what it does without the doctor. The verdict follows on stderr. The exit code is 3 if
    something is certainly wrong, else that of the script; 2 if there was no training to look at.

    Parameters
    ----------
    script
        The script, or with `-m` the name of a module.
    arguments
        All that follows belongs to the script.
    module
        Run a module by its name, as `python -m` does.
    steps
        Stop the script after so many optimiser steps; that counts as a good end.
    deep
        Take the time for all checks after the script's end: overfit one batch, compare learning rates, and others.
    live
        Tell the first finding that is certain in a line on stderr while the script runs; the report follows as without.
    json_file
        Write verdict and findings to this file; docs/doctor.md has its schema.
    html
        Write a page with plots to this file.
    exit_code
        What the exit code tells: the findings, or always how the script itself ended.
    """
    from gradlab.diagnosis import ranks
    from gradlab.diagnosis.script import run
    from gradlab.diagnosis.telling import tell

    if steps is not None and steps < 1:
        raise GradlabError(f"--steps {steps} looks at nothing. Give 1 or more.")
    figures = None if json_file is None else _writable("--json", json_file)
    page = None if html is None else _writable("--html", html)
    stderr = sys.stderr  # the script may put another one in its place
    outcome = run(script, arguments, module=module, steps=steps, deep=deep, live=live and not ranks.rank())
    group, of_the_script = ranks.Ranks(), exit_code == "script"
    if ranks.count() > 1:
        shared = group.verdict(outcome.verdict, outcome.failure is not None)
        if shared is None:
            sys.exit(outcome.code)  # the first rank tells it
        outcome = replace(outcome, verdict=shared)
    verdict, first = outcome.verdict, ranks.rank() == 0
    if figures is not None and first:
        _write(figures, json_text(verdict.as_json()) + "\n")
    if verdict.refusal is not None:
        group.reported()
        _refuse(outcome, script, of_the_script)
    tell(verdict, outcome.record, stderr)
    if page is not None and first:
        _draw(outcome, page, Path(script).name)
    group.reported()
    sys.exit(3 if verdict.worst == "error" and not of_the_script else outcome.code)


def before_the_script(arguments: Sequence[str]) -> list[str]:
    """The arguments of `gradlab doctor` with `--` before the script, after which nothing is read as an option of ours.

    >>> before_the_script(["--steps", "5", "train.py", "--steps", "1000"])
    ['--steps', '5', '--', 'train.py', '--steps', '1000']
    """
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        if arguments[place] == "--":
            return list(arguments)
        last = arguments[place] in _MODULE
        place += 2 if arguments[place] in _WITH_A_VALUE else 1
        if last:
            break
    ours, script = arguments[:place], arguments[place:]
    return [*ours, "--", *script] if script else [*ours]


def _writable(option: str, name: str) -> Path:
    """Where a file will be written: told before the script runs if it cannot be, and meant from where we are now."""
    path = Path(name).absolute()
    if path.is_dir():
        raise GradlabError(f"{option} {name} is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise GradlabError(f"{option} {name} cannot be written: there is no folder {path.parent}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise GradlabError(f"{option} {name} cannot be written: permission denied.")
    return path


def _refuse(outcome: Outcome, script: str, of_the_script: bool) -> NoReturn:
    """Nothing was trained: the script's own failure counts first, else it is no script for the doctor."""
    if outcome.failure is not None:
        notice(f"{script} {outcome.failure} before it trained anything: there is no training to look at.")
        sys.exit(outcome.code)
    refused = GradlabError("\n".join([outcome.verdict.refusal or "", *outcome.verdict.faults]))
    if not of_the_script:
        raise refused
    notice(str(refused))
    sys.exit(outcome.code)


def _draw(outcome: Outcome, path: Path, name: str) -> None:
    """The page; where it cannot be drawn, which would be our fault, verdict and exit code are as they were."""
    if outcome.record is None:
        notice("there is no page: the first rank has trained nothing.")
        return
    try:
        from gradlab.report.diagnosis import page_of

        content = page_of(outcome.verdict, outcome.record, name)
    except Exception as error:
        notice(f"the page could not be drawn, a fault of gradlab: {type(error).__name__}: {one_line(error)}")
        return
    _write(path, content)


def _write(path: Path, content: str) -> None:
    try:
        write_file(path, content)
    except GradlabError as error:  # the verdict is told all the same
        notice(str(error))
