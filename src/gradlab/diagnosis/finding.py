"""What the doctor says: findings, and the verdict they make together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from gradlab.diagnosis.series import Series

Severity = Literal["error", "warning", "note"]
"""error: the training is wrong or cannot work; warning: it most probably is; note: worth knowing, may well be meant."""

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is wrong, or may be."""

    slug: str
    """Its stable name."""
    severity: Severity
    confidence: float
    """Between 0 and 1: how sure the rule is of it, given what it measured."""
    where: str
    """Module path, parameter, and file and line of the call that caused it, as far as they are known."""
    since_step: int
    """The first optimiser step at which it was seen, counted from 0."""
    evidence: str
    """What was measured, with numbers."""
    fix: str
    """What to change; a line of code where one says it."""
    title: str = ""
    meaning: str = ""
    """Why it matters, in one sentence."""
    topic: str | None = None
    """What `gradlab explain` has on it."""
    series: Series | None = field(default=None, repr=False)
    """What to draw as a sparkline beside the evidence."""
    follows_from: str | None = None
    """The slug of the finding that explains this one."""

    def as_json(self) -> dict[str, Any]:
        shown = asdict(replace(self, series=None))
        shown["series"] = None if self.series is None else list(zip(*self.series.thinned(60), strict=True))
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> "Finding":
        """What `as_json` wrote, with as much of the series."""
        series = None if shown["series"] is None else Series()
        for step, value in shown["series"] or []:
            assert series is not None
            series.add(step, value)
        return cls(**{**shown, "series": series})


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first, among them the surest; what follows from another stands last."""
    return sorted(findings, key=lambda f: (f.follows_from is not None, _ORDER[f.severity], -f.confidence))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of watching a training."""

    findings: list[Finding]
    steps: int
    """Optimiser steps that were seen."""
    seconds: float
    faults: list[str] = field(default_factory=list)
    """What went wrong in the doctor itself, one line each."""
    refusal: str | None = None
    """Why nothing can be said: no training was seen."""

    @property
    def worst(self) -> Severity | None:
        return min((f.severity for f in self.findings), key=_ORDER.__getitem__, default=None)

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        if self.refusal:
            return self.refusal
        first = next((f for f in self.findings if f.severity != "note"), None)
        watched = f"{self.steps:,} step{'s' * (self.steps != 1)} watched"
        if first is None:
            return f"Looks healthy: nothing is wrong in what was measured ({watched})."
        more = sum(f.severity != "note" for f in self.findings) - 1
        besides = f", and {more} more" if more else ""
        sure = "" if first.severity == "error" else "Probably: "
        told = f"{sure}{first.title or first.slug}{besides} ({watched})."
        return told[0].upper() + told[1:]

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.sentence,
            "healthy": self.refusal is None and self.worst in (None, "note"),
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "findings": [finding.as_json() for finding in self.findings],
            "faults_of_the_doctor": self.faults,
        }
