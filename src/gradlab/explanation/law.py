"""A law of the course: what states it, and the code that it is about."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from gradlab.explanation.block import SourceCode
from gradlab.verification import Subject, run_check
from gradlab.verification.course import LAWS
from gradlab.verification.laws import checks_of

_CASES = 20


def law_summaries() -> dict[str, str]:
    """Each law in the words of the first check that states it."""
    return {law: stated[0].name for law in LAWS if (stated := checks_of(law))}


@dataclass(frozen=True)
class LawExplanation:
    """What `gradlab explain` shows of a law."""

    name: str
    group: str
    rows: list[list[str]]
    """Of each check: what it is about, its words, its formula, and the worst error of some random cases."""
    codes: list[SourceCode]

    @classmethod
    def of(cls, law: str) -> "LawExplanation":
        rows, about = [], dict[str, Callable[..., Any]]()
        for check in checks_of(law):
            subject = Subject.block(check.block)
            worst = run_check(check, subject, _CASES).worst_error
            rows.append([check.block, check.name, check.formula, "–" if worst is None else f"{worst:.0e}"])
            about[check.block] = subject.implementation
        return cls(law, LAWS[law], rows, [SourceCode.of(each) for each in about.values()])

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        columns = ("about", "law", "formula", "worst_error")
        checks = [dict(zip(columns, row, strict=True)) for row in self.rows]
        return {"name": self.name, "group": self.group, "checks": checks, "code": [asdict(code) for code in self.codes]}
