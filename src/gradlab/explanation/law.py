"""A law of the course: what states it, how that is asked of random cases, and the code that it is about."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from gradlab.explanation.block import SourceCode
from gradlab.explanation.equations import sentence, terminal
from gradlab.verification import Subject, run_check
from gradlab.verification.course import LAWS
from gradlab.verification.laws import checks_of

CASES = 20


def law_summaries() -> dict[str, str]:
    """Each law in the words of the first check that states it."""
    return {law: _sentence(stated[0].name) for law in LAWS if (stated := checks_of(law))}


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


@dataclass(frozen=True)
class Statement:
    """A law in words and in symbols, and how far each of the things it is about was off at worst."""

    words: str
    formula: str
    worst: dict[str, float | None]
    """By what it is about."""

    @property
    def latex(self) -> str:
        """The formula, where it is LaTeX as a whole and not in parts."""
        whole = re.fullmatch(r"\$([^$]+)\$", self.formula)
        return whole[1] if whole else ""

    @property
    def in_characters(self) -> str:
        return terminal(self.latex) if self.latex else sentence(self.formula)

    @property
    def errors(self) -> str:
        """What it is about, with the worst errors.

        >>> Statement("", "", {"conv.conv1d": 1e-16, "conv.conv2d": 0.0}).errors
        'conv.conv1d 1e-16, conv.conv2d 0'
        """
        return ", ".join(
            f"{name} {'–' if error is None else f'{error:.0e}' if error else '0'}" for name, error in self.worst.items()
        )


@dataclass(frozen=True)
class LawExplanation:
    """What `gradlab explain` shows of a law."""

    name: str
    group: str
    statements: list[Statement]
    codes: list[SourceCode]
    """Of the statements as they are asked, each beside that of what it is about first."""

    @classmethod
    def of(cls, law: str) -> "LawExplanation":
        statements, codes = dict[str, Statement](), dict[str, SourceCode]()
        for check in checks_of(law):
            subject = Subject.block(check.block)
            if check.name not in statements:
                statements[check.name] = Statement(_sentence(check.name), check.formula, {})
                pair = [SourceCode.of(each) for each in (check.error, subject.implementation)]
                codes |= {code.name: code for code in pair if code.name not in codes}
            statements[check.name].worst[check.block] = run_check(check, subject, CASES).worst_error
        return cls(law, LAWS[law], [*statements.values()], [*codes.values()])

    @property
    def title(self) -> str:
        return f"A law of the course: {self.group}."

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        checks = [
            {"about": about, "law": s.words, "formula": sentence(s.formula), "worst_error": error}
            for s in self.statements
            for about, error in s.worst.items()
        ]
        return {"name": self.name, "group": self.group, "checks": checks, "code": [asdict(code) for code in self.codes]}
