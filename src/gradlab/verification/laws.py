"""The laws of the course by their names: whether each holds, and whether its planted wrong versions are rejected."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from gradlab.errors import unknown
from gradlab.verification.checks import Check, checks
from gradlab.verification.course import LAWS
from gradlab.verification.running import CASES, CheckResult, run_check
from gradlab.verification.subject import Subject

_TRIED = 20  # cases in which a wrong version must fail


@dataclass(frozen=True)
class LawResult:
    """What came of a law: of all checks that state it."""

    id: str
    group: str
    checks: list[str]
    """Each as «subject: law»."""
    cases: int
    worst: float | None
    passed: bool
    rejects: bool
    """Whether every planted wrong version was found to be wrong."""
    reasons: list[str]
    """What is broken, and where."""

    def row(self) -> list[str]:
        """Law, check, cases, worst error and outcome, for a table."""
        worst = "–" if self.worst is None else f"{self.worst:.0e}" if self.worst else "0"
        outcome = "BROKEN" if not self.passed else "holds" if self.rejects else "REJECTS NOTHING"
        return [self.id, "\n".join(self.checks), f"{self.cases:,}", worst, outcome]

    def plain(self) -> dict[str, Any]:
        """For JSON, which has no infinities."""
        return {**asdict(self), "worst": self.worst if self.worst is None or self.worst < inf else None}


def checks_of(law: str) -> list[Check]:
    """Those that state it."""
    return [check for of_block in checks.values() for check in of_block if law in check.ids]


def law_names(words: Sequence[str]) -> list[str]:
    """These laws, or all of them."""
    for word in words:
        if word not in LAWS:
            raise unknown("law", word, LAWS)
    return [law for law in LAWS if not words or law in words]


def verify_law(law: str, cases: int = CASES, watch: Callable[[Check], None] = lambda check: None) -> LawResult:
    """Run all checks that state a law, on what it is about and on each planted wrong version of that."""
    stated, results, rejects = checks_of(law), list[CheckResult](), True
    for check in stated:
        watch(check)
        results.append(run_check(check, Subject.block(check.block), cases))
        for fault in check.faults:
            wrong = run_check(check, Subject(check.block, fault), _TRIED, smallest=False)
            rejects &= wrong.passed is False
    worst = max((r.worst_error for r in results if r.worst_error is not None), default=None)
    broken = [f"{check.block}, {r.name}: {r.reason}" for check, r in zip(stated, results, strict=True) if not r.passed]
    names = [f"{check.block}: {check.name}" for check in stated]
    tried = sum(result.cases for result in results)
    passed = bool(stated) and not broken
    return LawResult(law, LAWS[law], names, tried, worst, passed, bool(stated) and rejects, broken)
