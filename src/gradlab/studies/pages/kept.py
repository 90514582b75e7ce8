"""A figure against the share of the weights that is kept: what the reports of pruning share."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from gradlab.markup import Html
from gradlab.report.bands import Band, Curve, outline
from gradlab.report.charts import Trace, axis, chart, label, line
from gradlab.wording import percent

Points = Mapping[float, Sequence[float]]
"""By the share that is kept: a value of each training."""


def kept_chart(title: str, y: str, series: Mapping[str, tuple[Points, str]], note: str) -> Html:
    """A line through the means of each series, by its name and colour, in a band of one standard deviation."""
    shares = sorted({share for points, _ in series.values() for share in points}, reverse=True)
    ticks = {"tickvals": shares, "ticktext": [percent(share) for share in shares]}
    lines = [_means(name, points, color) for name, (points, color) in series.items()]
    return chart(
        title,
        [*(band for points, color in series.values() for band in _bands(points, color)), *lines],
        note,
        height=420,
        xaxis=axis("weights kept", type="log", autorange="reversed", **ticks),
        yaxis=axis(y),
    )


def _bands(points: Points, color: str) -> list[Trace]:
    """None where there is one training at each share."""
    shares = sorted(points)
    single = zip(*(points[share] for share in shares), strict=True)
    curves = [Curve(name="", steps=shares, values=list(values)) for values in single]
    return [{**outline(Band.of(curves), color), "showlegend": False}] if len(curves) > 1 else []


def _means(name: str, points: Points, color: str) -> Trace:
    shares = sorted(points)
    hover, marker = f"{label(name)}, %{{x:.3~%}} kept: %{{y:.4~g}}<extra></extra>", {"color": color, "size": 8}
    means = [fmean(points[share]) for share in shares]
    return line(name, shares, means, color, hover, 2.5, mode="lines+markers", marker=marker)
