"""Findings as cards: what is wrong, how it is known, and what to change."""

import math
from collections.abc import Iterator, Sequence

from gradlab.diagnosis.finding import Finding, ranks_in_words
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.telling import advice, code_and_comment, is_code, sentence
from gradlab.markup import Html, join, prose, section, tag
from gradlab.wording import is_wide, number

_WIDTH, _HEIGHT, _POINTS = 320, 56, 160  # of a small curve


def findings_section(title: str, findings: Sequence[Finding]) -> Html:
    """Causes first, large; nothing where nothing was found."""
    if not findings:
        return Html()
    grave = [f for f in findings if f.severity != "note" and f.follows_from is None]
    others = [f for f in findings if f not in grave]
    return section(
        title,
        tag("div", *(_card(f) for f in grave), class_="findings"),
        tag("div", *(_card(f) for f in others), class_="findings small") if others else "",
    )


def _card(finding: Finding) -> Html:
    badge = tag("span", finding.severity, class_="badge")
    sure = f"{finding.confidence:.0%} sure"
    facts = join(part for name, fact in _facts(finding) for part in (tag("dt", name), tag("dd", fact)))
    return tag(
        "article",
        tag("p", badge, tag("code", finding.slug), tag("span", sure, class_="quiet"), class_="over"),
        tag("h3", sentence(finding.title or finding.evidence)),
        tag("dl", facts),
        class_=f"finding {finding.severity}" if finding.severity != "note" else "finding",
    )


def _facts(finding: Finding) -> Iterator[tuple[str, Html]]:
    if finding.follows_from is not None:
        yield "Goes with", tag("code", finding.follows_from)
    if finding.where:
        yield "Where", tag("span", finding.where, class_="place")
    if finding.ranks:
        yield "On", join([ranks_in_words(finding.ranks)])
    if finding.since_step >= 0:
        yield "Since", join(["the first step" if finding.since_step == 0 else f"step {finding.since_step:,}"])
    if finding.evidence and finding.title:
        yield "Measured", _with_code(finding.evidence)
    if finding.series is not None and len(finding.series) > 1:
        yield "", _curve(finding.series)
    if finding.meaning:
        yield "Means", _with_code(finding.meaning)
    yield "Change", _with_code(advice(finding))
    if finding.topic:
        yield "More", tag("code", f"gradlab explain {finding.topic}")


def _with_code(text: str) -> Html:
    """Prose in which what stands between backticks is code, and lines of code as such."""
    return join(_code(line) if is_code(line) else tag("div", prose(line)) for line in text.splitlines() if line.strip())


def _code(line: str) -> Html:
    code, comment = code_and_comment(line)
    return tag("pre", code, tag("span", comment, class_="quiet"))


def _curve(series: Series) -> Html:
    """Values over steps as a small picture, with its ends in words; gaps are what is no number."""
    steps, values = series.thinned(_POINTS)
    logarithmic = is_wide(values)
    heights = [math.log(v) if logarithmic and math.isfinite(v) else v for v in values]
    finite = [h for h in heights if math.isfinite(h)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    span, over = (high - low) or 1.0, (steps[-1] - steps[0]) or 1
    drawn, pen = [], "M"
    for step, height in zip(steps, heights, strict=True):
        if math.isfinite(height):
            x, y = _WIDTH * (step - steps[0]) / over, _HEIGHT - (_HEIGHT - 4) * (height - low) / span - 2
            drawn.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L" if math.isfinite(height) else "M"
    scale = ", logarithmic" if logarithmic else ""
    ends = f"{number(series.first)} → {number(series.last)}, steps {series.steps[0]:,} to {series.steps[-1]:,}{scale}"
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "preserveAspectRatio": "none", "role": "img"}
    return join([tag("svg", tag("path", d=" ".join(drawn)), class_="curve", **box), tag("div", ends, class_="quiet")])
