"""Findings as a notebook shows them: one below the other, each with what to change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradlab.inline import line_chart
from gradlab.markup import Html, join, prose, tag
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.diagnosis.finding import Finding


def findings_list(findings: Sequence["Finding"]) -> Html:
    """In full where something is wrong; notes are counted."""
    grave = [finding for finding in findings if finding.severity != "note"]
    notes = len(findings) - len(grave)
    rest = tag("div", counted(notes, "note"), class_="soft") if notes else ""
    return join([*map(finding_block, grave), rest])


def finding_block(finding: "Finding") -> Html:
    """What is wrong, where, how it was measured and what to change."""
    head = [tag("span", finding.severity, class_=finding.severity), " ", tag("b", finding.title or finding.slug)]
    where = [" ", tag("code", finding.where)] if finding.where else []
    curve = line_chart("", {"": (finding.series.steps, finding.series.values)}) if finding.series else Html()
    return tag(
        "div",
        tag("div", *head, *where),
        tag("div", prose(finding.evidence)),
        curve,
        tag("div", tag("span", "Change: ", class_="soft"), tag("code", finding.fix)),
        style="margin: 8px 0",
    )
