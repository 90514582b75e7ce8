"""A rule: from what was seen to what is wrong."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gradlab.diagnosis.finding import Finding, Measure, Severity, Spot, fill, ranked
from gradlab.diagnosis.record import Loss, OptimizerRecord, Record, Site
from gradlab.diagnosis.series import Series

Grade = tuple[Severity, float]
"""How grave it is, and how sure the rule is of it, from 0 to 1."""

LOOKS = 5
"""With fewer looks, or steps that were checked, nothing shows a course."""
STEPS = 50
"""With fewer steps, little can be said of what was learnt."""
TINY = 1e-30
"""In place of a zero that something is divided by."""


class Case:
    """One case of what a rule looks for.

    `evidence` and `remedy` are templates, where they are not the rule's own; `besides` is told after the evidence.
    """

    def __init__(
        self,
        grade: Grade,
        *place: Spot | str,
        since: int = 0,
        series: Series | None = None,
        evidence: str = "",
        besides: str = "",
        remedy: str = "",
        **measured: Measure,
    ):
        self.grade, self.since, self.series, self.measured = grade, max(0, since), series, measured
        self.place = tuple(Spot(spot) if isinstance(spot, str) else spot for spot in place if spot)
        self.evidence, self.besides, self.remedy = evidence, besides, remedy


class Judging(Protocol):
    def __call__(self, record: Record, /) -> Iterable[Case]: ...


ANY = "*"
"""Follows from whatever else is found."""


def _nothing(record: Record, /) -> Iterable[Case]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A named rule, entered by decorating the function that judges: it gives at most a few cases, the worst first,
    and none for a healthy training."""

    slug: str
    title: str
    meaning: str
    evidence: str = ""
    """A template, filled with what a case has measured; so is the remedy."""
    remedy: str = ""
    topic: str | None = None
    follows: str = ""
    """Slugs of findings that explain this one, which is then told as their consequence."""
    judge: Judging = _nothing

    def __call__(self, judge: Judging) -> Judging:
        rules[self.slug] = replace(self, judge=judge)
        return judge


rules: dict[str, Rule] = {}


def for_script(rule: Rule, case: Case) -> Finding:
    """A finding in the words of somebody's own PyTorch file."""
    severity, confidence = case.grade
    return Finding(
        slug=rule.slug,
        severity=severity,
        confidence=round(confidence, 2),
        place=case.place,
        since_step=case.since,
        measured=case.measured,
        evidence=fill((case.evidence or rule.evidence) + case.besides, case.measured),
        fix=fill(case.remedy or rule.remedy, case.measured),
        title=rule.title,
        meaning=rule.meaning,
        topic=rule.topic,
        series=case.series,
    )


def judge(record: Record, render: Callable[[Rule, Case], Finding] = for_script) -> tuple[list[Finding], list[str]]:
    """All findings, ranked, and which rules have failed."""
    findings: list[Finding] = []
    faults: list[str] = []
    for one in rules.values():
        try:
            findings += [render(one, case) for case in one.judge(record)]
        except Exception as error:
            faults.append(f"rule {one.slug}: {type(error).__name__}: {error}")
    return ranked(_explained(findings)), faults


def _explained(findings: list[Finding]) -> list[Finding]:
    """A finding that another one explains becomes a note beside it."""
    grave = {f.slug: f for f in ranked(findings) if f.severity != "note"}
    result = []
    for finding in findings:
        follows = rules[finding.slug].follows
        causes = _before(finding.slug, list(grave)) if follows == ANY else [s for s in follows.split() if s in grave]
        cause = next((slug for slug in causes if slug != finding.slug), None)
        result.append(replace(finding, severity="note", follows_from=cause) if cause else finding)
    return result


def _before(slug: str, grave: list[str]) -> list[str]:
    """What explains a finding that follows from whatever else there is: of two such, only the surer the other."""
    earlier = grave[: grave.index(slug)] if slug in grave else grave
    return [other for other in grave if rules[other].follows != ANY or other in earlier]


# -- places and measurements that many rules have ----------------------------------------------------------------------


def at(what: str, site: Site | None, how: str = " at ") -> Spot:
    """Something at a line of the user's code, where that is known."""
    return Spot(what) if site is None else Spot(what, how, site.file, site.line)


def creation(optimizer: OptimizerRecord) -> Spot:
    return at(optimizer.kind, optimizer.site, " made at ")


def named(names: Sequence[str], most: int = 3) -> str:
    """The first few."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def course(loss: Loss) -> dict[str, Any]:
    """Where a loss began and ended."""
    return {"start": loss.start, "end": loss.end}
