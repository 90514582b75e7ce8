"""What came of the checks of a block: the outcome of each, the verdict, and how they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Literal

import torch

from gradlab.printable import printable
from gradlab.verification.case import WEIGHT
from gradlab.verification.checks import Kind

_LINES, _NUMBERS, _WIDTH = 16, 48, 100  # of a case that is shown: lines, numbers of a tensor, letters of a text
ROUNDED = "to float32"


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
    note: str = ""
    """What else is to be said of a check that holds."""

    def row(self) -> list[str]:
        """Kind, name, cases, worst error and outcome, for a table."""
        worst = "–" if self.worst_error is None else f"{self.worst_error:.0e}" if self.worst_error else "0"
        outcome = {True: "holds", False: "BROKEN", None: f"not made: {printable(self.reason, _WIDTH)}"}[self.passed]
        outcome += f" {self.note}" if self.passed and self.note else ""
        return [self.kind, self.name, str(self.cases), worst, outcome]

    def details(self) -> list[str]:
        """What is wrong, and the smallest case in which it is, line by line: its weights come last."""
        drawn = sorted(self.example.items(), key=lambda item: item[0].startswith(WEIGHT))
        lines = [f"{name} = {_short(value)}" for name, value in drawn]
        more = [f"… and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        return [self.reason, *lines[:_LINES], *more]

    def plain(self) -> dict[str, Any]:
        """For JSON, which has neither tensors nor infinities."""
        worst = self.worst_error
        return {
            **{key: getattr(self, key) for key in ("kind", "name", "cases", "passed", "tolerance", "reason", "note")},
            "worst_error": worst if worst is None or worst < inf else None,
            "example": {name: _jsonable(value) for name, value in self.example.items()},
        }


Verdict = Literal["agrees", "broken", "undecided"]


@dataclass(frozen=True, repr=False)
class Verification:
    """The results of all checks of a block, on it or on what is said to be like it."""

    block: str
    subject: str
    results: list[CheckResult]
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Our parameters, and which of the user's they are."""

    @property
    def passed(self) -> bool:
        """Whether no check was broken."""
        return not self.broken

    @property
    def broken(self) -> list[CheckResult]:
        return [result for result in self.results if result.passed is False]

    @property
    def findings(self) -> list[tuple[str, list[str]]]:
        """What is broken, a line each; with the first goes its smallest case, since one is enough to begin with."""
        lines = [(f"{result.kind} broken: {result.name}  ({result.reason})", result) for result in self.broken]
        return [(line, [] if i else result.details()[1:]) for i, (line, result) in enumerate(lines)]

    @property
    def renamed(self) -> list[str]:
        """Our parameters that are others of the user's, or have other names."""
        return [f"{name} = {source}" for name, source in self.mapping.items() if name != source]

    @property
    def compared(self) -> list[str]:
        """The kinds of judges that know its values, and with which they were compared: twin, peer."""
        return [kind for kind in ("twin", "peer") if any(r.kind == kind and r.passed and r.cases for r in self.results)]

    @property
    def verdict(self) -> Verdict:
        return "broken" if self.broken else "agrees" if self.compared else "undecided"

    def __bool__(self) -> bool:
        """For `assert gl.verify(...)`: nothing is broken, and something was compared."""
        return self.verdict == "agrees"

    @property
    def conclusion(self) -> str:
        """The verdict in one line."""
        if self.broken:
            first, *others = self.broken
            more = f", and {len(others)} more" if others else ""
            return f"broken: {first.kind} {first.name} ({first.reason}){more}"
        if self.compared:
            rounded = any(result.note == ROUNDED for result in self.results if result.passed)
            return f"agrees with {' and '.join(self.compared)}{f' {ROUNDED}' if rounded else ''}"
        others = [result for result in self.results if result.kind != "law"]
        if not others and any(result.passed for result in self.results):
            return "undecided: its laws hold, but there is no twin by whose values it could be compared"
        reasons = dict.fromkeys(result.reason for result in others if result.reason)
        return f"undecided: no value was compared, because {'; '.join(reasons) or 'no case could be made'}"

    def plain(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "subject": self.subject,
            "verdict": self.verdict,
            "conclusion": self.conclusion,
            "passed": self.passed,
            "parameters": dict(self.mapping),
            "checks": [result.plain() for result in self.results],
        }

    def __repr__(self) -> str:
        """Short, since pytest shows no more than this of `assert gl.verify(...)`."""
        like = f" like {self.block}" if self.subject != self.block else ""
        return f"<{self.subject}{like} {self.conclusion}>"

    def __str__(self) -> str:
        rows = [result.row() for result in self.results]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        findings = [line for heading, case in self.findings for line in (heading, *(f"  {line}" for line in case))]
        return "\n".join(
            [self.subject, *(row.rstrip() for row in lines), *self.renamed, "", *findings, self.conclusion]
        )


def _short(value: Any) -> str:
    """A drawn value in one line: numbers to four digits, and of many the shape alone.

    >>> _short(torch.tensor([[1.0, 0.12345]])), _short(3), _short(torch.zeros(9, 9))
    ('[[1, 0.1235]]', '3', '9 × 9 numbers from 0 to 0')
    """
    if isinstance(value, torch.Tensor) and value.numel() > _NUMBERS:
        wide = value.detach().double()
        shape = " × ".join(map(str, value.shape))
        return f"{shape} numbers from {wide.min().item():.4g} to {wide.max().item():.4g}"
    if isinstance(value, torch.Tensor):
        return _short(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value), _WIDTH)


def _jsonable(value: Any) -> Any:
    """What JSON has of it: numbers that are finite, text, lists of such; of anything else, its text."""
    if isinstance(value, torch.Tensor):
        return _jsonable(value.detach().tolist())
    if isinstance(value, list | tuple):
        return [_jsonable(part) for part in value]
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else printable(str(value), _WIDTH)
