"""A rule: from what was seen to what is wrong."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from gradlab.diagnosis.finding import Finding, Severity, ranked
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.series import Series


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a rule has to say of one case; the rest of a finding is the same in all cases."""

    severity: Severity
    confidence: float
    where: str
    since: int
    evidence: str
    fix: str
    series: Series | None = None


class Judging(Protocol):
    def __call__(self, record: Record, /) -> Iterable[Seen]: ...


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A named rule. `follows`: the slugs of findings that explain this one; it is then told as their consequence."""

    slug: str
    title: str
    meaning: str
    topic: str | None
    follows: tuple[str, ...]
    judge: Judging


ANY = ("*",)
"""Follows from whatever else is found."""

rules: dict[str, Rule] = {}


def rule(
    slug: str, *, title: str, meaning: str, topic: str | None = None, follows: tuple[str, ...] = ()
) -> Callable[[Judging], Judging]:
    """Enter a function as a rule. It gives at most a few cases, the worst first, and none for a healthy training."""

    def enter(judge: Judging) -> Judging:
        rules[slug] = Rule(slug=slug, title=title, meaning=meaning, topic=topic, follows=follows, judge=judge)
        return judge

    return enter


def judge(record: Record) -> tuple[list[Finding], list[str]]:
    """All findings, ranked, and which rules have failed."""
    found: list[Finding] = []
    faults: list[str] = []
    for one in rules.values():
        try:
            found += [_finding(one, seen) for seen in one.judge(record)]
        except Exception as error:
            faults.append(f"rule {one.slug}: {type(error).__name__}: {error}")
    return ranked(_explained(found)), faults


def _finding(one: Rule, seen: Seen) -> Finding:
    return Finding(
        slug=one.slug,
        severity=seen.severity,
        confidence=round(seen.confidence, 2),
        where=seen.where,
        since_step=max(0, seen.since),
        evidence=seen.evidence,
        fix=seen.fix,
        title=one.title,
        meaning=one.meaning,
        topic=one.topic,
        series=seen.series,
    )


def _explained(found: list[Finding]) -> list[Finding]:
    """A finding that another one explains becomes a note beside it."""
    grave = {f.slug: f for f in ranked(found) if f.severity != "note"}
    result = []
    for finding in found:
        follows = rules[finding.slug].follows
        causes = grave if follows == ANY else [slug for slug in follows if slug in grave]
        cause = next((slug for slug in causes if slug != finding.slug), None)
        result.append(replace(finding, severity="note", follows_from=cause) if cause else finding)
    return result
