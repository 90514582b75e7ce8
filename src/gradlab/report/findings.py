"""What the doctor says of the run, where something is wrong with it."""

from typing import TYPE_CHECKING

from gradlab.diagnosis.finding import Finding
from gradlab.diagnosis.telling import drawn, sentence
from gradlab.report.markup import Html, section, tag

if TYPE_CHECKING:
    from gradlab.run import Run


def findings_section(run: "Run") -> Html:
    """Errors and warnings; nothing where there is none."""
    grave = [finding for finding in run.findings or [] if finding.severity != "note"]
    return section("What the doctor says", *map(_card, grave)) if grave else Html()


def _card(finding: Finding) -> Html:
    curve = tag("pre", drawn(finding.series)) if finding.series else ""
    return tag(
        "div",
        tag("h3", f"{sentence(finding.severity)}: {finding.title}"),
        tag("p", finding.evidence),
        curve,
        tag("p", finding.meaning, class_="quiet"),
        tag("p", "What to change", class_="quiet"),
        tag("pre", finding.fix),
        class_="commands",
    )
