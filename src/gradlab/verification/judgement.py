"""All verdicts on one block, or on what is said to be like it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradlab.errors import GradlabError, unknown
from gradlab.nn.blocks import blocks
from gradlab.verification.checks import KINDS, Check, checks
from gradlab.verification.judging import CASES, Verdict, judge
from gradlab.verification.subject import Subject


@dataclass(frozen=True)
class Judgement:
    """The verdicts on a subject, in the order of the checks."""

    block: str
    subject: str
    verdicts: list[Verdict]

    @property
    def passed(self) -> bool:
        """Whether no check was broken."""
        return all(verdict.passed is not False for verdict in self.verdicts)

    @property
    def broken(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.passed is False]

    def plain(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "subject": self.subject,
            "passed": self.passed,
            "checks": [verdict.plain() for verdict in self.verdicts],
        }

    def __str__(self) -> str:
        rows = [verdict.row() for verdict in self.verdicts]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        told = [line for verdict in self.broken for line in ("", verdict.name, *verdict.told())]
        return "\n".join([self.subject, *(line.rstrip() for line in lines), *told])


def names_of(asked: Sequence[str]) -> list[str]:
    """The blocks of these names, each of which is a block's or a family's; all blocks if none is asked for.

    >>> names_of(["activation"])[:2], names_of(["activation.leaky-relu"])
    (['activation.argmax', 'activation.elu'], ['activation.leaky_relu'])
    """
    everything = sorted(blocks)
    found = []
    for name in (word.replace("-", "_") for word in asked):
        members = [block for block in everything if block == name or block.startswith(f"{name}.")]
        if not members:
            raise unknown("block or family", name, {*everything, *(block.partition(".")[0] for block in everything)})
        found += members
    return list(dict.fromkeys(found)) if asked else everything


def judged(
    subject: Subject, told: str, cases: int = CASES, watch: Callable[[Check], None] = lambda check: None
) -> Judgement:
    """All checks of a subject's block, made on it. `watch` hears of each before it begins."""

    def verdicts() -> Iterator[Verdict]:
        for check in sorted(checks[subject.name], key=lambda check: KINDS.index(check.kind)):
            watch(check)
            yield judge(check, subject, cases)

    return Judgement(subject.name, told, list(verdicts()))


def judged_like(
    made: Any,
    like: str,
    values: Mapping[str, Any],
    told: str,
    cases: int = CASES,
    watch: Callable[[Check], None] = lambda check: None,
) -> Judgement:
    """All checks of a block, made on a user's class, function or module. If none can be made, that is an error."""
    found = judged(Subject.like(like, made, values), told, cases, watch)
    if all(verdict.passed is None for verdict in found.verdicts):
        reasons = dict.fromkeys(verdict.reason for verdict in found.verdicts)
        raise GradlabError(f"{told} cannot be compared with {like}: {'; '.join(reasons)}.")
    return found
