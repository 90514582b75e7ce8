"""What the reports of repeated trainings share: means in cards, a dot for each training, tables of every figure."""

from collections.abc import Iterable
from typing import Any

from gradlab.report.charts import ACCENT, axis, chart, charts
from gradlab.report.markup import Html, card, section, table, tag
from gradlab.studies.pages.frame import boxed, trainings
from gradlab.studies.spread import Repeated
from gradlab.wording import duration, name_of, number

_FEW = 20  # trainings whose dots, and the numbers below them, stand well apart


def shown(found: Repeated) -> list[str]:
    """The most telling metric, and what was trained."""
    return [name for name in dict.fromkeys((found.names[0], "loss")) if name in found.spread]


def mean_cards(found: Repeated) -> list[Html]:
    """The mean of each figure that is shown, and what stands beside it."""
    return [_card(found, name) for name in shown(found)]


def _card(found: Repeated, name: str) -> Html:
    spread, baseline = found.spread[name], found.baseline.get(name)
    beside = {"standard deviation": number(spread.std), "standard error": number(spread.standard_error)}
    verdict = ""
    if baseline is not None:
        better = spread.mean > baseline if found.higher.get(name, False) else spread.mean < baseline
        beside[found.baseline_name] = number(baseline)
        verdict = "better" if better else "poor"
    return card(f"{found.split} {name_of(name)}, mean", number(spread.mean), beside, verdict)


def spread_section(found: Repeated, title: str, words: str) -> Html:
    """A dot for each training, their mean, and a band of one standard deviation."""
    explained = (
        f"A dot for each {found.noun}; the line is their mean, the band one standard deviation either way. {words}"
    )
    return section(title, tag("p", explained, class_="quiet"), charts(*(_dots(found, name) for name in shown(found))))


def _dots(found: Repeated, name: str) -> Html:
    judged = [(i, member) for i, member in zip(found.numbers, found.members, strict=True) if not member.diverged]
    few = len(found.numbers) <= _FEW
    dots = {
        "x": [i for i, _ in judged],
        "y": [member.figures(found.split)[name] for _, member in judged],
        "mode": "markers",
        "marker": {"color": ACCENT, "size": 11 if few else 6},
        "hovertemplate": f"{found.noun} %{{x}}: %{{y:.4~g}}<extra></extra>",
    }
    return chart(
        name_of(name)[0].upper() + name_of(name)[1:],
        [dots],
        xaxis=axis(
            found.noun, tickvals=found.numbers if few else None, range=[found.numbers[0] - 0.5, found.numbers[-1] + 0.5]
        ),
        yaxis=axis(f"{found.split} {name_of(name)}"),
        shapes=_shapes(found, name),
        showlegend=False,
        height=260,
    )


def _shapes(found: Repeated, name: str) -> list[dict[str, Any]]:
    mean, std = found.spread[name].mean, found.spread[name].std or 0.0
    ends = {"xref": "paper", "x0": 0, "x1": 1}
    band = {"type": "rect", **ends, "y0": mean - std, "y1": mean + std, "fillcolor": ACCENT, "opacity": 0.12}
    return [
        {**band, "line": {"width": 0}, "layer": "below"},
        {"type": "line", **ends, "y0": mean, "y1": mean, "line": {"color": ACCENT, "width": 1.5}},
    ]


def every_figure(found: Repeated) -> Html:
    """Mean, spread and baseline of each of them."""
    head = ["", "mean", "standard deviation", "standard error", *([found.baseline_name] if found.baseline else [])]
    rows = [
        [
            name_of(n),
            *map(number, (s.mean, s.std, s.standard_error, *([found.baseline.get(n)] if found.baseline else []))),
        ]
        for n, s in ((n, found.spread[n]) for n in found.names)
    ]
    return section("Every figure", boxed(table(head, rows, class_="numbers")))


def every_training(found: Repeated, title: str, words: str, column: str, values: Iterable[Any]) -> Html:
    """A row for each training, with one column of what sets the trainings of this study apart."""
    rows = []
    for i, member, value in zip(found.numbers, found.members, values, strict=True):
        figures = member.figures(found.split)
        ended = " (diverged)" if member.diverged else ""
        cells = [f"{found.noun} {i}{ended}", value, *(figures.get(n) for n in found.names), duration(member.seconds)]
        rows.append((member, cells))
    return trainings(title, ["", column, *(name_of(n) for n in found.names), "time"], rows, words)
