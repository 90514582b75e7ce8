"""What the reports of repeated trainings share: means in cards, a dot for each training, tables of every figure."""

from collections.abc import Iterable
from typing import Any

from gradlab.markup import Html, card, section, table, tag
from gradlab.report.charts import ACCENT, axis, chart, charts
from gradlab.studies.pages.frame import boxed, trainings
from gradlab.studies.spread import Repeated
from gradlab.wording import duration, name_of, number

_FEW = 20  # trainings whose dots, and the numbers below them, stand well apart


def shown(result: Repeated) -> list[str]:
    """The most telling metric, and what was trained."""
    return [name for name in dict.fromkeys((result.names[0], "loss")) if name in result.spread]


def mean_cards(result: Repeated) -> list[Html]:
    """The mean of each figure that is shown, and what stands beside it."""
    return [_card(result, name) for name in shown(result)]


def _card(result: Repeated, name: str) -> Html:
    spread, baseline = result.spread[name], result.baseline.get(name)
    beside = {"standard deviation": number(spread.std), "standard error": number(spread.standard_error)}
    verdict = ""
    if baseline is not None:
        better = spread.mean > baseline if result.higher.get(name, False) else spread.mean < baseline
        beside[result.baseline_name] = number(baseline)
        verdict = "better" if better else "poor"
    return card(f"{result.split} {name_of(name)}, mean", number(spread.mean), beside, verdict)


def spread_section(result: Repeated, title: str, words: str) -> Html:
    """A dot for each training, their mean, and a band of one standard deviation."""
    explained = (
        f"A dot for each {result.noun}; the line is their mean, the band one standard deviation either way. {words}"
    )
    return section(title, tag("p", explained, class_="quiet"), charts(*(_dots(result, name) for name in shown(result))))


def _dots(result: Repeated, name: str) -> Html:
    finished = [(i, member) for i, member in zip(result.numbers, result.members, strict=True) if not member.diverged]
    few = len(result.numbers) <= _FEW
    dots = {
        "x": [i for i, _ in finished],
        "y": [member.figures(result.split)[name] for _, member in finished],
        "mode": "markers",
        "marker": {"color": ACCENT, "size": 11 if few else 6},
        "hovertemplate": f"{result.noun} %{{x}}: %{{y:.4~g}}<extra></extra>",
    }
    return chart(
        name_of(name)[0].upper() + name_of(name)[1:],
        [dots],
        xaxis=axis(
            result.noun,
            tickvals=result.numbers if few else None,
            range=[result.numbers[0] - 0.5, result.numbers[-1] + 0.5],
        ),
        yaxis=axis(f"{result.split} {name_of(name)}"),
        shapes=_shapes(result, name),
        showlegend=False,
        height=260,
    )


def _shapes(result: Repeated, name: str) -> list[dict[str, Any]]:
    mean, std = result.spread[name].mean, result.spread[name].std or 0.0
    ends = {"xref": "paper", "x0": 0, "x1": 1}
    band = {"type": "rect", **ends, "y0": mean - std, "y1": mean + std, "fillcolor": ACCENT, "opacity": 0.12}
    return [
        {**band, "line": {"width": 0}, "layer": "below"},
        {"type": "line", **ends, "y0": mean, "y1": mean, "line": {"color": ACCENT, "width": 1.5}},
    ]


def every_figure(result: Repeated) -> Html:
    """Mean, spread and baseline of each of them."""
    head = ["", "mean", "standard deviation", "standard error", *([result.baseline_name] if result.baseline else [])]
    rows = [
        [
            name_of(n),
            *map(number, (s.mean, s.std, s.standard_error, *([result.baseline.get(n)] if result.baseline else []))),
        ]
        for n, s in ((n, result.spread[n]) for n in result.names)
    ]
    return section("Every figure", boxed(table(head, rows, class_="numbers")))


def every_training(result: Repeated, title: str, words: str, column: str, values: Iterable[Any]) -> Html:
    """A row for each training, with one column of what sets the trainings of this study apart."""
    rows = []
    for i, member, value in zip(result.numbers, result.members, values, strict=True):
        figures = member.figures(result.split)
        ended = " (diverged)" if member.diverged else ""
        cells = [f"{result.noun} {i}{ended}", value, *(figures.get(n) for n in result.names), duration(member.seconds)]
        rows.append((member, cells))
    return trainings(title, ["", column, *(name_of(n) for n in result.names), "time"], rows, words)
