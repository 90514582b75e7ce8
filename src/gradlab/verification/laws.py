"""The laws of the course by their names: whether each holds, and whether its planted wrong versions are rejected."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from gradlab.errors import unknown
from gradlab.printable import listed
from gradlab.verification.checks import Check, checks
from gradlab.verification.course import LAWS
from gradlab.verification.results import CheckResult
from gradlab.verification.running import CASES, run_check
from gradlab.verification.search import check_installed
from gradlab.verification.subject import Subject

_NAMED = 3  # subjects of a law in a table


@dataclass(frozen=True)
class LawResult:
    """What came of a law: of all checks that state it."""

    id: str
    group: str
    checks: list[str]
    """Each as «subject: law»."""
    cases: int
    worst: float | None
    allowed: float | None
    """The tolerance of the check that came nearest to it, whose error is the worst."""
    passed: bool
    rejects: bool
    """Whether every planted wrong version was found to be wrong."""
    reasons: list[str]
    """What is wrong, and where."""

    def rows(self) -> list[list[str]]:
        """Law, what states it, cases, worst error and what is allowed, outcome: a row for each law in other words."""
        worst = "–" if self.worst is None else f"{self.worst:.0e}" if self.worst else "0"
        outcome = "BROKEN" if not self.passed else "holds" if self.rejects else "REJECTS NOTHING"
        first, *others = self._stated() or ["nothing states it yet"]
        figures = [f"{self.cases:,}", worst, "–" if self.allowed is None else f"{self.allowed:.0e}", outcome]
        return [[self.id, first, *figures], *(["", other, "", "", "", ""] for other in others)]

    def _stated(self) -> list[str]:
        """The laws, each with all that it is about, unless that is what the one before is about."""
        about: dict[str, list[str]] = {}
        for check in self.checks:
            subject, _, words = check.partition(": ")
            about.setdefault(words, []).append(subject)
        before = [None, *about.values()]
        return [
            words if subjects == last else f"{words} ({listed(_short(subjects), _NAMED)})"
            for last, (words, subjects) in zip(before, about.items(), strict=False)
        ]

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


def verify_law(
    law: str, cases: int = CASES, watch: Callable[[Check], None] = lambda check: None, seed: int = 0
) -> LawResult:
    """Run all checks that state a law, on what it is about and on each planted wrong version of that."""
    check_installed()
    stated, results, rejects = checks_of(law), list[CheckResult](), True
    for check in stated:
        watch(check)
        results.append(run_check(check, Subject.block(check.block, seed=seed), cases))
        for fault in check.faults:
            wrong = run_check(check, Subject(check.block, fault), CASES, smallest=False)
            rejects &= wrong.passed is False
    known = [r for r in results if r.worst_error is not None]
    worst = max(known, key=lambda r: (r.worst_error or 0.0) / max(r.tolerance, 1e-300), default=None)
    broken = [f"{check.block}, {r.name}: {r.reason}" for check, r in zip(stated, results, strict=True) if not r.passed]
    names = [f"{check.block}: {check.name}" for check in stated]
    tried = sum(result.cases for result in results)
    passed = bool(stated) and not broken
    broken += [] if stated else [f"{law}: no check states it"]
    broken += [] if rejects else [f"{law}: a wrong version that was planted for it is not rejected"]
    error, allowed = (worst.worst_error, worst.tolerance) if worst else (None, None)
    return LawResult(law, LAWS[law], names, tried, error, allowed, passed, bool(stated) and rejects, broken)


def _short(subjects: Sequence[str]) -> list[str]:
    """Those of one family after the first without its name.

    >>> _short(["conv.conv1d", "conv.conv2d", "dense.linear"])
    ['conv.conv1d', 'conv2d', 'dense.linear']
    """
    families = ["", *(subject.partition(".")[0] for subject in subjects)]
    pairs = zip(families, subjects, strict=False)
    return [subject.removeprefix(f"{before}.") for before, subject in pairs]
