"""What all charts share: their layout, colours and marks, and the way they stand in the page.

A figure is a plain dictionary for plotly.js. A colour `var(--name)` is a variable of style.css, which the page fills in
when it draws, so that charts follow the reader's choice of light or dark.
"""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeVar

import numpy as np

from gradlab.markup import Html, tag

Trace = dict[str, Any]
T = TypeVar("T")

INK, SOFT, ACCENT, CARD = "var(--ink)", "var(--soft)", "var(--accent)", "var(--card)"
TINT, HEAT, LINE = "var(--tint)", "var(--heat)", "var(--line)"
TRAIN, VALIDATION, GOOD, POOR = "var(--train)", "var(--validation)", "var(--good)", "var(--poor)"

# Paul Tol's bright scheme: apart for colour-blind eyes too, and legible on light and dark.
PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999"]
_BY_DEPTH = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377"]  # from the input to the loss
BY_DEPTH_NOTE = " From blue, near the input, to red, near the loss; point at a line to see its name."

LOGARITHMIC: dict[str, Any] = {"type": "log"}
_DAY = 86_400_000  # milliseconds
_EXACT = 2**40  # whole numbers beyond which halves can soon not be represented
_MOST_POINTS = 2000  # more are no longer seen apart, and make the page heavy
_HEALTHY = (3e-4, 3e-3)  # updates of about a thousandth of the weights, half a decade either way


def chart(title: str, traces: Sequence[Trace], note: str = "", **layout: Any) -> Html:
    """A titled figure; keywords go into its layout, those of an axis into that axis."""
    axes = {axis: _axis(layout.pop(axis, {})) for axis in ("xaxis", "yaxis")}
    figure = json.dumps(_plain({"data": traces, "layout": {**_layout(), **axes, **layout}}), allow_nan=False)
    return tag(
        "figure",
        tag("h3", title),
        tag("div", class_="chart", style=f"height: {layout.get('height', 300)}px"),
        # With every < coded, nothing in the data can end the element.
        tag("script", Html(figure.replace("<", "\\u003c")), type="application/json"),
        tag("figcaption", note) if note else "",
    )


def charts(*figures: Html) -> Html:
    """Figures side by side where there is room."""
    return tag("div", *figures, class_="charts")


def axis(title: str, **options: Any) -> dict[str, Any]:
    return {"title": {"text": label(title), "standoff": 8}, **options}


def label(text: str) -> str:
    """A user's text for plotly.js, which reads a little HTML in its labels."""
    return escape(text)


# Marks. Arrays and tensors may stand for lists.


def line(name: str, x: Any, y: Any, color: str, hover: str, width: float = 2, **options: Any) -> Trace:
    """A curve; of one point, a dot."""
    mode = "lines" if len(x) > 1 else "markers"
    style = {"line": {"color": color, "width": width}, "marker": {"color": color}}
    return {"name": label(name), "x": x, "y": y, "mode": mode, **style, "hovertemplate": hover, **options}


def ribbon(name: str, x: list[Any], lower: list[float], upper: list[float], color: str) -> Trace:
    """What lies between two curves: one closed outline, there along the upper edge and back along the lower."""
    outline = {"name": label(name), "x": [*x, *x[::-1]], "y": [*upper, *lower[::-1]], "mode": "lines"}
    filled = {"line": {"width": 0, "color": color}, "fill": "toself", "fillcolor": color, "opacity": 0.25}
    return {**outline, **filled, "hoverinfo": "skip"}


def dots(name: str, x: Any, y: Any, color: str, hover: str = "", *, custom: Any = None, **marker: Any) -> Trace:
    trace = {"name": label(name), "x": x, "y": y, "mode": "markers", "marker": {"color": color, "size": 6, **marker}}
    return trace | ({"hovertemplate": hover} if hover else {}) | ({} if custom is None else {"customdata": custom})


def bars(x: Any, y: Any, hover: str, color: str = ACCENT, **options: Any) -> Trace:
    return {"type": "bar", "x": x, "y": y, "marker": {"color": color}, "hovertemplate": hover, **options}


def heatmap(z: Any, colors: Sequence[tuple[float, str]], hover: str, **options: Any) -> Trace:
    return {"type": "heatmap", "z": z, "colorscale": colors, "hovertemplate": hover, "showscale": False, **options}


def diagonal(low: float, high: float) -> Trace:
    """Where both axes agree."""
    style = {"mode": "lines", "line": {"color": SOFT, "dash": "dot"}, "hoverinfo": "skip", "showlegend": False}
    return {"x": [low, high], "y": [low, high], **style}


def level(value: float, across: str = "x", color: str = SOFT) -> dict[str, Any]:
    """A dotted line over the whole chart: level, or upright `across` the other axis."""
    along, at = ("x", "y") if across == "x" else ("y", "x")
    ends = {f"{along}ref": "paper", f"{along}0": 0, f"{along}1": 1, f"{at}0": value, f"{at}1": value}
    return {"type": "line", **ends, "line": {"color": color, "width": 1.5, "dash": "dot"}}


def healthy_updates() -> dict[str, Any]:
    """The band in which update-to-weight ratios should lie."""
    low, high = _HEALTHY
    place = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": low, "y1": high, "layer": "below"}
    return {**place, "fillcolor": GOOD, "opacity": 0.16, "line": {"width": 0}}


# Colours of many lines.


def has_legend(lines: int) -> bool:
    """Whether lines have a colour each; a longer legend is not read."""
    return lines <= len(PALETTE)


def line_colors(lines: int) -> list[str]:
    """A colour for each line; of many, in the order of the layers, a ramp from the input to the loss."""
    if has_legend(lines):
        return PALETTE
    return [_between(i * (len(_BY_DEPTH) - 1) / (lines - 1)) for i in range(lines)]


def _between(place: float) -> str:
    first = min(int(place), len(_BY_DEPTH) - 2)
    ends = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in _BY_DEPTH[first : first + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - first)):02x}" for a, b in zip(*ends, strict=True))


# Whole figures.


def histogram(title: str, values: Any, note: str, bins: int = 40, dates: bool = False, **layout: Any) -> Html:
    """How many values lie where; dates are days since 1970."""
    try:
        heights, edges = np.histogram(values, bins=_edges(np.asarray(values), bins))
    except ValueError:  # they lie so near each other that no edges fit between them
        heights, edges = np.array([len(values)]), np.array([np.min(values), np.max(values)])
    middles, widths = (edges[1:] + edges[:-1]) / 2, 0.94 * np.diff(edges)
    if dates:  # plotly counts milliseconds
        trace = bars(middles * _DAY, heights, "around %{x|%Y-%m-%d}: %{y}<extra></extra>", width=widths * _DAY)
        layout["xaxis"] = {**layout.get("xaxis", {}), "type": "date"}
    else:
        trace = bars(middles, heights, "around %{x:.4~g}: %{y}<extra></extra>", width=widths)
    return chart(title, [trace], note, showlegend=False, **layout)


def _edges(values: Any, bins: int) -> Any:
    """How many bins; of whole numbers their edges, so that each bin holds as many whole numbers as every other."""
    if not len(values):
        return 1
    if (values != np.round(values)).any() or np.abs(values).max() > _EXACT:
        return bins
    low, high = values.min(), values.max()
    step = math.ceil((high - low + 1) / bins)
    return np.arange(low - 0.5, high + 0.5 + step, step)


def count_bars(title: str, names: Iterable[str], counts: Any, note: str, bar: int = 24, **layout: Any) -> Html:
    """How many there are of each, one below the other."""
    trace = bars(counts, list(map(label, names)), "%{y}: %{x}<extra></extra>", orientation="h")
    upright = axis("", autorange="reversed", type="category")
    return chart(title, [trace], note, height=120 + bar * len(counts), yaxis=upright, showlegend=False, **layout)


def meter(share: float, text: str) -> Html:
    """A share as a bar behind its number."""
    return tag("span", text, class_="meter", style=f"--share: {share:.3f}")


# Scales.


def thinned(items: Sequence[T], most: int = _MOST_POINTS) -> list[T]:
    """At most about `most` of the items, evenly spread, the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    stride = math.ceil(len(items) / most)
    return list(items[(len(items) - 1) % stride :: stride]) if items else []


def scale(values: Iterable[float], times: float = 100) -> dict[str, Any]:
    """An axis for values: logarithmic where they span so many times the lowest, whose end would not be seen otherwise.

    Else it spans the values alone: from zero on, curves that end near each other would be flat.

    >>> [scale(values).get("type", "linear") for values in ([2.3, 0.02], [2.3, 0.03], [1.0, 0.0])]
    ['log', 'linear', 'linear']
    """
    finite = [v for v in values if math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return log_scale(finite) if 0 < times * low < high else {}


def log_ticks(values: Iterable[float | None]) -> list[float]:
    """At 1 and 3 of every decade; of many decades at 1 alone, or at 1 of every second, third, …"""
    positive = _positive(values)
    low, high = (math.floor(math.log10(end(positive, default=1))) for end in (min, max))
    every, digits = max(1, (high - low) // 6), (1, 3) if high - low < 4 else (1,)
    return [float(f"{digit}e{decade}") for decade in range(low - 1, high + 2, every) for digit in digits]


def log_scale(values: Iterable[float | None]) -> dict[str, Any]:
    """A logarithmic axis with `log_ticks`; values with less than two of them have those that plotly.js chooses."""
    positive = _positive(values)
    ticks = log_ticks(positive)
    if positive and sum(min(positive) <= tick <= max(positive) for tick in ticks) < 2:
        return LOGARITHMIC
    return {**LOGARITHMIC, "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _positive(values: Iterable[float | None]) -> list[float]:
    return [v for v in values if v is not None and v > 0 and math.isfinite(v)]


def _layout() -> dict[str, Any]:
    font = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12, "color": SOFT}
    return {
        "font": font,
        "height": 300,
        "margin": {"l": 56, "r": 16, "t": 12, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "font": {"color": INK}},
        "hoverlabel": {"bgcolor": CARD, "bordercolor": LINE, "font": {**font, "color": INK}},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "showlegend": True,
    }


def _axis(options: dict[str, Any]) -> dict[str, Any]:
    lines = {"gridcolor": LINE, "linecolor": LINE, "zeroline": False, "automargin": True}
    return {**lines, "fixedrange": True, **options}


def _plain(value: Any) -> Any:
    """The same nesting of lists, with null for NaN and infinity, which JSON does not know."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
