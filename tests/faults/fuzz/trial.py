"""One malformed input tried in this process: which of the things that must never happen did happen?"""

import json
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from attempt import Attempt
from families import FAMILIES
from running import isolated, run_attempt
from writes import refused_outside

CPU_SECONDS = 40  # of one input, which takes a tenth of a second: a hang on any machine
LONGEST = 8_000  # characters of a message
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DOCTORS_OWN = ("Faults of the doctor", "It could not", "a fault of gradlab")


class Failure(NamedTuple):
    family: str
    seed: int
    kind: str
    """traceback, hang, exit code, output, result, write or crash"""
    words: str

    def __str__(self) -> str:
        return f"{self.family}:{self.seed} {self.kind}: {self.words}"


class Hang(BaseException):
    """Longer than any input may take."""


Fail = Callable[[str, str], Failure]


def attempt(family: str, seed: int, home: Path, folder: Path) -> Failure | None:
    """Draw the input of a seed, try it, and say what went wrong, if anything did."""
    folder.mkdir()

    def failed(kind: str, words: str) -> Failure:
        arguments = " ".join(drawn.arguments)[:300] if drawn else ""
        return Failure(family, seed, kind, f"{drawn.words if drawn else ''} [{arguments}] {words}")

    def stop(number: int, frame: Any) -> None:
        raise Hang

    drawn: Attempt | None = None
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        drawn = FAMILIES[family](random.Random(f"{family}:{seed}"), home, folder)
        with isolated(folder, folder / "cache"), refused_outside(folder) as outside:
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
            try:
                code, out, errors = run_attempt(drawn)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if outside:
            return failed("write", ", ".join(outside)[:500])
        return judge(drawn, code, out, errors, folder, failed)
    except Hang:
        return failed("hang", "".join(traceback.format_exc().splitlines()[-3:]))
    except BaseException as error:  # an extension may raise what is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return failed("traceback", " | ".join(traceback.format_exc().splitlines()[-5:]))
    finally:
        signal.signal(signal.SIGVTALRM, before)
        shutil.rmtree(folder, ignore_errors=True)


def judge(drawn: Attempt, code: int, out: str, errors: str, folder: Path, failed: Fail) -> Failure | None:
    """The failure that exit code, output or files show, if any."""
    if drawn.runs_script:
        return _judge_doctor(errors, failed)
    if code == 70:
        log = next(folder.glob("gradlab-*.log"), None)
        lines = log.read_text().splitlines()[-4:] if log else []
        return failed("traceback", f"{errors[-300:]} {' | '.join(lines)}")
    if "Traceback (most recent call last)" in errors + out:
        return failed("traceback", errors[-500:])
    if code not in drawn.codes:
        return failed("exit code", f"{code}: {errors[-300:]}")
    return _judge_output(drawn, code, out, errors, failed) or _judge_result(drawn, code, folder, failed)


def _judge_doctor(errors: str, failed: Fail) -> Failure | None:
    """What a script prints, and how it ends, is its own; what the doctor says of itself is not."""
    if fault := next((phrase for phrase in _DOCTORS_OWN if phrase in errors), None):
        return failed("traceback", errors[errors.index(fault) :][:500])
    return failed("traceback", errors[-500:]) if "/gradlab/cli/" in errors else None


def _judge_output(drawn: Attempt, code: int, out: str, errors: str, failed: Fail) -> Failure | None:
    if code in (1, 2) and not errors.strip():
        return failed("output", f"exit code {code} without a word")
    raw = "generate" in drawn.arguments[:1]  # what a model writes is not ours when no terminal shows it
    if found := _CONTROL.search(errors + ("" if raw else out)):
        return failed("output", f"control character {found.group()!r}")
    if (longest := max(map(len, errors.splitlines()), default=0)) > LONGEST:
        return failed("output", f"a message of {longest} characters")
    if "--json" in drawn.arguments and out.strip():
        try:
            json.loads(out, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
        except ValueError as error:
            return failed("output", f"--json printed {out[:200]!r}: {error}")
    return None


def _judge_result(drawn: Attempt, code: int, folder: Path, failed: Fail) -> Failure | None:
    if drawn.test is None or code:
        return None
    test = json.loads((folder / "r" / "result.json").read_text())["test"]
    return failed("result", f"{test} instead of {drawn.test}") if test != drawn.test else None
