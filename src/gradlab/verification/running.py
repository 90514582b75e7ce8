"""Running checks on many random cases, and finding the smallest one that fails."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from math import inf
from typing import Any, Self

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gradlab.errors import GradlabError, unknown
from gradlab.nn.blocks import blocks
from gradlab.verification.case import Case
from gradlab.verification.checks import KINDS, Check, Kind, checks
from gradlab.verification.place import HOME, Place
from gradlab.verification.subject import CannotBuild, Incomparable, Subject, subjects

CASES = 50
NO_TWIN = "it has no twin with which its numbers could be compared"


@dataclass(frozen=True)
class CheckResult:
    """What came of a check. `passed` is None for one that does not apply; `reason` then says why."""

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
        outcome = {True: "holds", False: "BROKEN", None: f"skipped: {self.reason}"}[self.passed]
        return [self.kind, self.name, str(self.cases), worst, outcome]

    def details(self) -> list[str]:
        """What is wrong, and the smallest case in which it is, line by line."""
        return [self.reason, *(f"{name} = {_short(value)}" for name, value in self.example.items())]

    def plain(self) -> dict[str, Any]:
        """For JSON, which has neither tensors nor infinities."""
        worst = self.worst_error
        return {
            **asdict(self),
            "worst_error": worst if worst is None or worst < inf else None,
            "example": {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in self.example.items()},
        }


@dataclass(frozen=True)
class Verification:
    """The results of all checks of a block, on it or on what is said to be like it."""

    block: str
    subject: str
    results: list[CheckResult]

    @property
    def passed(self) -> bool:
        """Whether no check was broken."""
        return not self.broken

    @property
    def broken(self) -> list[CheckResult]:
        return [result for result in self.results if result.passed is False]

    def plain(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "subject": self.subject,
            "passed": self.passed,
            "checks": [result.plain() for result in self.results],
        }

    def __str__(self) -> str:
        rows = [result.row() for result in self.results]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        details = [line for result in self.broken for line in ("", result.name, *result.details())]
        return "\n".join([self.subject, *(line.rstrip() for line in lines), *details])


Watch = Callable[[Check], None]
"""Hears of each check before it begins."""


def verify_block(subject: Subject, title: str, cases: int = CASES, watch: Watch = lambda check: None) -> Verification:
    """Run all checks of a subject's block on it; elsewhere than at home only the twins, which know its numbers."""
    results = []
    for check in sorted(checks[subject.name], key=lambda check: KINDS.index(check.kind)):
        if subject.place == HOME or check.kind == "twin":
            watch(check)
            results.append(run_check(check, subject, cases))
    return Verification(subject.name, title, results or [_skipped(check, NO_TWIN) for check in checks[subject.name]])


def verify_like(
    implementation: Any,
    like: str,
    values: Mapping[str, Any],
    title: str,
    cases: int = CASES,
    watch: Watch = lambda check: None,
    place: Place = HOME,
) -> Verification:
    """Run all checks of a block on a user's class, function or module. If none applies, that is an error."""
    verification = verify_block(Subject.like(like, implementation, values, place), title, cases, watch)
    if all(result.passed is None for result in verification.results):
        reasons = dict.fromkeys(result.reason for result in verification.results)
        raise GradlabError(f"{title} cannot be compared with {like}: {'; '.join(reasons)}.")
    return verification


def block_names(words: Sequence[str]) -> list[str]:
    """The blocks and kernels of these names, each of which is a block's or a family's; all if there are none.

    >>> block_names(["activation"])[:2], block_names(["activation.leaky-relu"])
    (['activation.argmax', 'activation.elu'], ['activation.leaky_relu'])
    """
    everything = sorted({*blocks, *subjects})
    names = []
    for name in (word.replace("-", "_") for word in words):
        members = [block for block in everything if block == name or block.startswith(f"{name}.")]
        if not members:
            raise unknown("block or family", name, {*everything, *(block.partition(".")[0] for block in everything)})
        names += members
    return list(dict.fromkeys(names)) if words else everything


def run_check(check: Check, subject: Subject, cases: int = CASES, *, smallest: bool = True) -> CheckResult:
    """The result of a check on a subject. A case that fails is shown in its smallest form, if that is wanted."""
    if check.needs and find_spec(check.needs) is None:
        return _skipped(check, f"{check.needs} is not installed (pip install 'gradlab[judges]')")
    check = check.at(subject.place)
    try:
        trial = _Trial(check, subject).run(min(cases, check.most_cases or cases), shrink=smallest)
        if trial.reason and smallest:
            trial.reason, trial.drawn = _smallest(check, subject) or (trial.reason, trial.drawn)
    except Incomparable as why:
        return _skipped(check, str(why))
    worst = max(trial.errors, key=lambda error: inf if error != error else error, default=None)
    drawn = trial.drawn if trial.reason else {}
    passed = not trial.reason
    return CheckResult(check.kind, check.name, len(trial.errors), worst, passed, check.tolerance, trial.reason, drawn)


def _skipped(check: Check, reason: str) -> CheckResult:
    return CheckResult(check.kind, check.name, 0, None, None, check.tolerance, reason)


def _smallest(check: Check, subject: Subject) -> tuple[str, dict[str, Any]] | None:
    """Why and where a check fails, looked for among small cases first: shrinking a large one rarely ends there."""
    for room in (0, 1, 2):
        trial = _Trial(check, subject, room).run(CASES)
        if trial.reason:
            return trial.reason, trial.drawn
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
            if "not implemented for" in str(error) and self.subject.place != HOME:  # as PyTorch says it
                raise Incomparable(" ".join(str(error).split())) from error
            self.reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return self

    def _case(self, data: st.DataObject) -> None:
        case = Case(data, self.subject, self.room)
        try:
            error = self.check.error(case)
        finally:
            self.drawn = case.drawn
        self.errors.append(error)
        if not error <= self.check.tolerance:
            raise Broken(f"off by {error:.2g}, allowed is {self.check.tolerance:.0e}")


class Broken(AssertionError):
    """A case in which the error is larger than allowed."""


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
