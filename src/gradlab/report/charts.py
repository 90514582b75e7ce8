"""What all charts share: their layout, their colours, and the way they stand in the page.

A figure is a plain dictionary for plotly.js. A colour `var(--name)` is a variable of style.css, which the page fills in
when it draws, so that charts follow the reader's choice of light or dark.
"""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeVar

from gradlab.report.markup import Html, tag

Trace = dict[str, Any]
T = TypeVar("T")

INK, SOFT, ACCENT, CARD = "var(--ink)", "var(--soft)", "var(--accent)", "var(--card)"
TINT, HEAT = "var(--tint)", "var(--heat)"
TRAIN, VALIDATION, GOOD = "var(--train)", "var(--validation)", "var(--good)"

# Paul Tol's bright scheme: apart for colour-blind eyes too, and legible on light and dark.
PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999"]

_MOST_POINTS = 2000  # more are no longer seen apart, and make the page heavy


def chart(title: str, traces: Sequence[Trace], note: str = "", **layout: Any) -> Html:
    """A titled figure; keywords go into its layout, those of an axis into that axis."""
    axes = {axis: _axis(layout.pop(axis, {})) for axis in ("xaxis", "yaxis")}
    written = json.dumps(_finite({"data": traces, "layout": {**_layout(), **axes, **layout}}), allow_nan=False)
    return tag(
        "figure",
        tag("h3", title),
        tag("div", class_="chart", style=f"height: {layout.get('height', 300)}px"),
        # With every < coded, nothing in the data can end the element.
        tag("script", Html(written.replace("<", "\\u003c")), type="application/json"),
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


def thinned(items: Sequence[T], most: int = _MOST_POINTS) -> list[T]:
    """At most about `most` of the items, evenly spread, the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    stride = math.ceil(len(items) / most)
    return list(items[(len(items) - 1) % stride :: stride]) if items else []


def falls_far(values: Iterable[float], times: float = 100) -> bool:
    """Whether a loss spans so many times its lowest value that its end is only seen on a log axis.

    >>> falls_far([2.3, 0.02]), falls_far([2.3, 0.03]), falls_far([1.0, 0.0])
    (True, False, False)
    """
    finite = [v for v in values if math.isfinite(v)]
    return 0 < times * min(finite, default=0) < max(finite, default=0)


def log_ticks(values: Iterable[float]) -> dict[str, Any]:
    """Ticks at 1 and 3 of every decade, or at 1 alone where there are many decades."""
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    low, high = (math.floor(math.log10(end(positive, default=1))) for end in (min, max))
    ticks = [
        float(f"{digit}e{decade}") for decade in range(low - 1, high + 2) for digit in (1, 3)[: 1 + (high - low < 4)]
    ]
    return {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _layout() -> dict[str, Any]:
    font = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12, "color": SOFT}
    return {
        "font": font,
        "height": 300,
        "margin": {"l": 56, "r": 16, "t": 12, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"color": INK}},
        "hoverlabel": {"bgcolor": CARD, "bordercolor": "var(--line)", "font": {**font, "color": INK}},
        "hovermode": "closest",
        "dragmode": False,  # a finger on a chart scrolls the page
        "showlegend": True,
    }


def _axis(options: dict[str, Any]) -> dict[str, Any]:
    lines = {"gridcolor": "var(--line)", "linecolor": "var(--line)", "zeroline": False, "automargin": True}
    return {**lines, "fixedrange": True, **options}


def _finite(value: Any) -> Any:
    """The same nesting with null for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
