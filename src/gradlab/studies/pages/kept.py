"""A figure against the share of the weights that is kept: what the reports of pruning share."""

from collections.abc import Mapping, Sequence

from gradlab.report.bands import Band, Curve, outline
from gradlab.report.charts import Trace, axis, chart, label, line
from gradlab.report.markup import Html
from gradlab.wording import percent

Points = Mapping[float, Sequence[float]]
"""By the share that is kept: a value of each training."""


def kept_chart(title: str, y: str, series: Mapping[str, tuple[Points, str]], note: str) -> Html:
    """A line through the means of each series, by its name and colour, in a band of one standard deviation."""
    shares = sorted({share for points, _ in series.values() for share in points}, reverse=True)
    ticks = {"tickvals": shares, "ticktext": [percent(share) for share in shares]}
    return chart(
        title,
        [trace for name, (points, color) in series.items() for trace in _traces(name, points, color)],
        note,
        height=420,
        xaxis=axis("weights kept", type="log", autorange="reversed", **ticks),
        yaxis=axis(y),
    )


def _traces(name: str, points: Points, color: str) -> list[Trace]:
    shares = sorted(points)
    curves = [
        Curve(name=name, steps=shares, values=[points[share][i] for share in shares])
        for i in range(min(map(len, points.values())))
    ]
    means = [sum(points[share]) / len(points[share]) for share in shares]
    hover = f"{label(name)}, %{{x:.3~%}} kept: %{{y:.4~g}}<extra></extra>"
    mean = line(name, shares, means, color, hover, 2.5, mode="lines+markers", marker={"color": color, "size": 8})
    if len(curves) < 2:
        return [mean]
    return [{**outline(Band.of(curves), color), "showlegend": False}, mean]
