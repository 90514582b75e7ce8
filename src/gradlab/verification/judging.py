"""Running a check on many random cases, and finding the smallest one that fails."""

import warnings
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gradlab.verification.case import Case
from gradlab.verification.checks import Check, Kind
from gradlab.verification.subject import Incomparable, Subject

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


def judge(check: Check, subject: Subject, cases: int = CASES) -> Verdict:
    """The verdict of a check on a subject."""
    if check.needs and find_spec(check.needs) is None:
        return _not_made(check, f"{check.needs} is not installed (pip install 'gradlab[judges]')")
    cases = min(cases, check.most_cases or cases)
    errors: list[float] = []
    last: dict[str, Any] = {}

    @settings(
        max_examples=cases,
        derandomize=True,  # the same cases each time
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.data())
    def every_case_holds(data: st.DataObject) -> None:
        case = Case(data, subject)
        try:
            error = check.judge(case)
        finally:
            last.clear()
            last.update(case.drawn)
        errors.append(error)
        if not error <= check.tolerance:
            raise Broken(f"off by {error:.2g}, allowed is {check.tolerance:.0e}")

    reason = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            every_case_holds()
    except Incomparable as why:
        return _not_made(check, str(why))
    except Broken as broken:
        reason = str(broken)
    except Exception as error:  # a user's module may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    worst = max(errors, key=lambda e: float("inf") if e != e else e, default=None)
    return Verdict(
        check.kind, check.name, len(errors), worst, not reason, check.tolerance, reason, dict(last) if reason else {}
    )


def _not_made(check: Check, reason: str) -> Verdict:
    return Verdict(check.kind, check.name, 0, None, None, check.tolerance, reason)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, torch.Tensor) else value
