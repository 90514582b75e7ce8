"""What the doctor says: findings, and the verdict they make together."""

import shlex
import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from gradlab.diagnosis.inline import finding_block, findings_list
from gradlab.diagnosis.series import Series
from gradlab.inline import InlineResult
from gradlab.markup import Html
from gradlab.wording import number

Severity = Literal["error", "warning", "note"]
"""error: the training is wrong or cannot work; warning: it most probably is; note: worth knowing, may well be meant."""

SCHEMA = 1
"""Of the JSON that a verdict is written as."""
_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}


Measure = float | str | Sequence[int]
"""A number, a name, or a shape."""


@dataclass(frozen=True)
class Spot:
    """Something of a training, with a line of the user's code where one is known.

    >>> print(Spot("SGD", " made at ", "train.py", 20), Spot("net.0.weight"), sep="; ")
    SGD made at train.py:20; net.0.weight
    """

    what: str
    how: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        return self.what if self.file is None else f"{self.what}{self.how}{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding(InlineResult):
    """One thing that is wrong, or may be."""

    slug: str
    """Its stable name."""
    severity: Severity
    confidence: float
    """Between 0 and 1: how sure the rule is of it, given what it measured."""
    place: tuple[Spot, ...] = ()
    """Modules, parameters, and the calls that caused it, as far as they are known."""
    since_step: int
    """The first optimiser step at which it was seen, counted from 0."""
    measured: Mapping[str, Measure] = field(default_factory=dict)
    """Figures by name."""
    evidence: str
    """The same as a sentence."""
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
    ranks: tuple[int, ...] = ()
    """Of several processes that train together: those that have it."""

    @property
    def _name(self) -> str:
        return self.slug

    def _facts(self) -> list[str]:
        return [self.severity, f"{self.confidence:.0%} sure", self.where]

    def _content(self) -> list[Html]:
        return [finding_block(self)]

    @property
    def where(self) -> str:
        return "; ".join(map(str, self.place))

    def as_json(self) -> dict[str, Any]:
        series = None if self.series is None else list(zip(*self.series.thinned(60), strict=True))
        shown = {**asdict(replace(self, series=None)), "where": self.where, "series": series}
        if not self.ranks:
            del shown["ranks"]
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> "Finding":
        """What `as_json` wrote, with as much of the series; that of earlier versions knew its place as text alone."""
        known = {name: value for name, value in shown.items() if name != "where"}
        known["ranks"] = tuple(shown.get("ranks", ()))
        known["place"] = tuple(Spot(**spot) for spot in shown.get("place", [{"what": shown["where"]}]))
        if shown["series"] is not None:
            known["series"] = Series()
            for step, value in shown["series"]:
                known["series"].add(step, value)
        return cls(**known)


class Findings(list[Finding], InlineResult):
    """A list of findings, which a notebook shows in full.

    >>> Findings()
    Findings(nothing was found)
    """

    __repr__ = InlineResult.__repr__

    def _facts(self) -> list[str]:
        return [f"{finding.severity} {finding.slug}" for finding in self] or ["nothing was found"]

    def _content(self) -> list[Html]:
        return [findings_list(self)]


class _Filler(string.Formatter):
    """Numbers without a format of their own are written as people read them; `{name!q}` is quoted for a shell."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return shlex.quote(str(value)) if conversion == "q" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        return number(value) if isinstance(value, float) and not format_spec else str(format(value, format_spec))


def fill(template: str, measured: Mapping[str, Measure]) -> str:
    """
    >>> fill("lr={rate:g}  # at a loss of {loss}", {"rate": 0.001, "loss": 2.30259})
    'lr=0.001  # at a loss of 2.3026'
    >>> fill("data.drop={column!q}", {"column": "day of it"})
    "data.drop='day of it'"
    """
    return _Filler().vformat(template, (), measured)


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first, among them the surest; what follows from another stands last."""
    return sorted(findings, key=lambda f: (f.follows_from is not None, _ORDER[f.severity], -f.confidence))


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(InlineResult):
    """What came of watching a training."""

    findings: list[Finding]
    steps: int
    """Optimiser steps that were seen."""
    seconds: float
    faults: list[str] = field(default_factory=list)
    """What went wrong in the doctor itself, one line each."""
    refusal: str | None = None
    """Why nothing can be said: no training was seen."""
    ranks: tuple[int, ...] = ()
    """Of several processes: those whose training was seen."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", Findings(self.findings))  # however it was put together

    def _facts(self) -> list[str]:
        return [self.sentence]

    def _content(self) -> list[Html]:
        return [findings_list(self.findings)]

    @property
    def worst(self) -> Severity | None:
        return min((f.severity for f in self.findings), key=_ORDER.__getitem__, default=None)

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        if self.refusal:
            return self.refusal
        first = next((f for f in self.findings if f.severity != "note"), None)
        on = f" on {ranks_in_words(self.ranks)}" if self.ranks else ""
        watched = f"{self.steps:,} step{'s' * (self.steps != 1)} watched{on}"
        if first is None:
            return f"Looks healthy: nothing is wrong in what was measured ({watched})."
        more = sum(f.severity != "note" for f in self.findings) - 1
        besides = f", and {more} more" if more else ""
        sure = "" if first.severity == "error" else "Probably: "
        text = f"{sure}{first.title or first.slug}{besides} ({watched})."
        return text[0].upper() + text[1:]

    def as_json(self) -> dict[str, Any]:
        """As docs/doctor.md describes it; whoever changes a key's meaning raises the number of the schema."""
        return {
            "schema": SCHEMA,
            "verdict": self.sentence,
            "healthy": self.refusal is None and self.worst in (None, "note"),
            "refusal": self.refusal,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            **({"ranks": list(self.ranks)} if self.ranks else {}),
            "findings": [finding.as_json() for finding in self.findings],
            "faults_of_the_doctor": self.faults,
        }

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> "Verdict":
        return cls(
            findings=[Finding.from_json(finding) for finding in shown["findings"]],
            steps=shown["steps"],
            seconds=shown["seconds"],
            faults=shown["faults_of_the_doctor"],
            refusal=shown["refusal"],
            ranks=tuple(shown.get("ranks", ())),
        )


def ranks_in_words(ranks: Sequence[int]) -> str:
    """
    >>> ranks_in_words([0]), ranks_in_words([0, 1]), ranks_in_words([0, 1, 2, 3]), ranks_in_words([0, 2, 5])
    ('rank 0', 'ranks 0 and 1', 'ranks 0 to 3', 'ranks 0, 2 and 5')
    """
    *most, last = ranks
    if not most:
        return f"rank {last}"
    if len(most) > 1 and last - most[0] == len(most):
        return f"ranks {most[0]} to {last}"
    return f"ranks {', '.join(map(str, most))} and {last}"
