"""A rule: from what was seen to what is wrong."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gradlab.diagnosis.finding import Finding, Measure, Severity, Spot, fill, ranked
from gradlab.diagnosis.record import Loss, Optimizer, Record, Site
from gradlab.diagnosis.series import Series

Grade = tuple[Severity, float]
"""How grave it is, and how sure the rule is of it, from 0 to 1."""

LOOKS = 5
"""With fewer looks, or steps that were checked, nothing shows a course."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case of what a rule looks for.

    `evidence` and `remedy` are templates, where they are not the rule's own; `besides` is told after the evidence.
    """

    grade: Grade
    place: tuple[Spot, ...]
    since: int
    measured: dict[str, Measure]
    evidence: str
    besides: str
    remedy: str
    series: Series | None


def case(
    grade: Grade,
    *place: Spot | str,
    since: int = 0,
    series: Series | None = None,
    evidence: str = "",
    besides: str = "",
    remedy: str = "",
    **measured: Measure,
) -> Case:
    return Case(
        grade=grade,
        place=tuple(Spot(spot) if isinstance(spot, str) else spot for spot in place if spot),
        since=since,
        measured=measured,
        evidence=evidence,
        besides=besides,
        remedy=remedy,
        series=series,
    )


class Judging(Protocol):
    def __call__(self, record: Record, /) -> Iterable[Case]: ...


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A named rule. `follows`: the slugs of findings that explain this one; it is then told as their consequence."""

    slug: str
    title: str
    meaning: str
    evidence: str
    remedy: str
    topic: str | None
    follows: tuple[str, ...]
    judge: Judging


ANY = ("*",)
"""Follows from whatever else is found."""

rules: dict[str, Rule] = {}


def rule(
    slug: str,
    *,
    title: str,
    meaning: str,
    evidence: str = "",
    remedy: str = "",
    topic: str | None = None,
    follows: tuple[str, ...] = (),
) -> Callable[[Judging], Judging]:
    """Enter a function as a rule. It gives at most a few cases, the worst first, and none for a healthy training.

    `evidence` and `remedy` are templates, filled with what a case has measured.
    """

    def enter(judge: Judging) -> Judging:
        rules[slug] = Rule(
            slug=slug,
            title=title,
            meaning=meaning,
            evidence=evidence,
            remedy=remedy,
            topic=topic,
            follows=follows,
            judge=judge,
        )
        return judge

    return enter


def for_script(rule: Rule, case: Case) -> Finding:
    """A finding in the words of somebody's own PyTorch file."""
    severity, confidence = case.grade
    return Finding(
        slug=rule.slug,
        severity=severity,
        confidence=round(confidence, 2),
        place=case.place,
        since_step=max(0, case.since),
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
        causes = grave if follows == ANY else [slug for slug in follows if slug in grave]
        cause = next((slug for slug in causes if slug != finding.slug), None)
        result.append(replace(finding, severity="note", follows_from=cause) if cause else finding)
    return result


# -- places and measurements that many rules have ----------------------------------------------------------------------


def at(what: str, site: Site | None, how: str = " at ") -> Spot:
    """Something at a line of the user's code, where that is known."""
    return Spot(what) if site is None else Spot(what, how, site.file, site.line)


def made(optimizer: Optimizer) -> Spot:
    return at(optimizer.kind, optimizer.site, " made at ")


def named(names: Sequence[str], most: int = 3) -> str:
    """The first few."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def course(loss: Loss) -> dict[str, Any]:
    """Where a loss began and ended."""
    return {"start": loss.start, "end": loss.end}
