"""Running a check on many random cases, and finding the smallest one that fails."""

import warnings
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from math import inf
from typing import Any, Self

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gradlab.verification.case import Case
from gradlab.verification.checks import Check, Kind
from gradlab.verification.subject import CannotBuild, Incomparable, Subject

CASES = 50


@dataclass(frozen=True)
class Verdict:
    """What came of a check. `passed` is None for one that could not be made; `reason` then says why."""

    kind: Kind
    name: str
    cases: int
    worst_error: float | None
    passed: bool | None
    tolerance: float
    reason: str = ""
    example: dict[str, Any] = field(default_factory=dict)
    """What was drawn for the smallest case that fails."""

    def row(self) -> list[str]:
        """Kind, name, cases, worst error and outcome, for a table."""
        worst = "–" if self.worst_error is None else f"{self.worst_error:.0e}" if self.worst_error else "0"
        outcome = {True: "holds", False: "BROKEN", None: f"not made: {self.reason}"}[self.passed]
        return [self.kind, self.name, str(self.cases), worst, outcome]

    def told(self) -> list[str]:
        """What is wrong, and the smallest case in which it is, line by line."""
        return [self.reason, *(f"{name} = {_short(value)}" for name, value in self.example.items())]

    def plain(self) -> dict[str, Any]:
        """For JSON, which has neither tensors nor infinities."""
        worst = self.worst_error
        return {
            **asdict(self),
            "worst_error": worst if worst is None or worst < float("inf") else None,
            "example": {name: _plain(value) for name, value in self.example.items()},
        }


class Broken(AssertionError):
    """A case in which the error is larger than allowed."""


def judge(check: Check, subject: Subject, cases: int = CASES, *, smallest: bool = True) -> Verdict:
    """The verdict of a check on a subject. A case that fails is shown in its smallest form, unless not asked for."""
    if check.needs and find_spec(check.needs) is None:
        return _not_made(check, f"{check.needs} is not installed (pip install 'gradlab[judges]')")
    cases = min(cases, check.most_cases or cases)
    try:
        found = _Trial(check, subject).run(cases, shrink=smallest)
        if found.reason and smallest:
            found.reason, found.drawn = _smallest(check, subject) or (found.reason, found.drawn)
    except Incomparable as why:
        return _not_made(check, str(why))
    worst = max(found.errors, key=lambda error: inf if error != error else error, default=None)
    drawn = found.drawn if found.reason else {}
    return Verdict(
        check.kind, check.name, len(found.errors), worst, not found.reason, check.tolerance, found.reason, drawn
    )


def _smallest(check: Check, subject: Subject) -> tuple[str, dict[str, Any]] | None:
    """Why and where a check fails, looked for among small cases first: shrinking a large one rarely ends there."""
    for room in (0, 1, 2):
        found = _Trial(check, subject, room).run(CASES)
        if found.reason:
            return found.reason, found.drawn
    return None


class _Trial:
    """Many cases of one check, up to the first that fails, which is then made smaller while it still does."""

    def __init__(self, check: Check, subject: Subject, room: int | None = None):
        self.check, self.subject, self.room = check, subject, room
        self.errors: list[float] = []
        self.drawn: dict[str, Any] = {}
        self.reason = ""

    def run(self, cases: int, *, shrink: bool = True) -> Self:
        every_case = settings(
            max_examples=cases,
            derandomize=True,  # the same cases each time
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )(given(st.data())(self._case))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                every_case()
        except (CannotBuild, Incomparable):
            raise
        except Broken as broken:
            self.reason = str(broken)
        except Exception as error:  # a user's module may raise anything
            self.reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return self

    def _case(self, data: st.DataObject) -> None:
        case = Case(data, self.subject, self.room)
        try:
            error = self.check.judge(case)
        finally:
            self.drawn = case.drawn
        self.errors.append(error)
        if not error <= self.check.tolerance:
            raise Broken(f"off by {error:.2g}, allowed is {self.check.tolerance:.0e}")


def _not_made(check: Check, reason: str) -> Verdict:
    return Verdict(check.kind, check.name, 0, None, None, check.tolerance, reason)


def _short(value: Any) -> str:
    """A drawn value in one line: numbers to four digits.

    >>> _short(torch.tensor([[1.0, 0.12345]])), _short(3)
    ('[[1, 0.1235]]', '3')
    """
    if isinstance(value, torch.Tensor):
        return _short(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, torch.Tensor) else value
