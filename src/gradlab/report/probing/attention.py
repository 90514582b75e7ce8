"""Attention as pictures: all heads side by side, and each layer with its tokens."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.probes import AttentionMap, Head
from gradlab.report.charts import CARD, HEAT, INK, SOFT, chart, charts
from gradlab.report.markup import Html, section, tag
from gradlab.report.pictures import picture, signed
from gradlab.report.probing.text import places_of, token_axis

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_LAYERS, _HEADS, _PLACES = 12, 16, 64  # that are drawn
_CROWDED = 40  # places whose names need smaller letters


def section_of(probe: "Probe") -> Html:
    """Nothing for a model without attention, or whose attention has no weights to show."""
    shown = [a for a in probe.attention if a.weights is not None]
    if not shown:
        return Html()
    texts = [token.text for token in probe.tokens]
    words = (
        "Of the first example: what each query (a row) takes from each key (a column); rows sum to 1. Captions are "
        f"means over all examples: how spread the weight is, and how far from itself a query looks.{_left_out(shown)}"
    )
    overview = [part for a in shown[:_LAYERS] for part in (tag("b", a.name), _thumbnails(a))]
    return section(
        "Attention",
        tag("p", words, class_="quiet"),
        tag("figure", tag("div", *overview, class_="heads")),
        charts(*(_closer(a, texts) for a in shown[:_LAYERS])),
    )


def _left_out(shown: list[AttentionMap]) -> str:
    heads, queries, keys = (max(a.weights.shape[i] for a in shown if a.weights is not None) for i in (1, 2, 3))
    limits = [
        (len(shown), _LAYERS, "layers"),
        (heads, _HEADS, "heads of a layer"),
        (max(queries, keys), _PLACES, "places"),
    ]
    told = [f"the first {most} of {there} {what}" for there, most, what in limits if there > most]
    return f" Drawn are {', '.join(told)}." if told else ""


def _weights(attention: AttentionMap) -> npt.NDArray[np.float64]:
    """Of the first example, as many as are drawn."""
    assert attention.weights is not None
    weights: npt.NDArray[np.float64] = attention.weights[0, :_HEADS, :_PLACES, :_PLACES].double().cpu().numpy()
    return weights


def _thumbnails(attention: AttentionMap) -> Html:
    # The root lets weights be seen that are spread over many keys.
    drawn = [
        picture(signed(np.sqrt(weights)), f"{attention.name}, head {i}", f"head {i}: {_told(head)}")
        for i, (weights, head) in enumerate(zip(_weights(attention), attention.heads, strict=False))
    ]
    return tag("div", *drawn, class_="pictures small")


def _told(head: Head) -> str:
    back = "" if head.distance is None else f", {head.distance:.1f} away"
    return f"{head.entropy:.1f} bits{back}"


def _closer(attention: AttentionMap, texts: list[str]) -> Html:
    """One head at a time, chosen by a slider."""
    weights = _weights(attention)
    _, queries, keys = weights.shape
    named = attention.itself and len(texts) >= keys
    rows, columns = (places_of(texts[:n] if named else [str(i) for i in range(n)]) for n in (queries, keys))
    traces = [
        {
            "type": "heatmap",
            "x": columns,
            "y": rows,
            "z": np.round(head, 4).tolist(),
            "zmin": 0,
            "visible": i == 0,
            "colorscale": [[0, CARD], [1, HEAT]],
            "showscale": False,
            "hovertemplate": "%{y} looks at %{x}: %{z:.3f}<extra></extra>",
        }
        for i, head in enumerate(weights)
    ]
    steps = [
        {"label": str(i), "method": "restyle", "args": ["visible", [i == j for j in range(len(weights))]]}
        for i in range(len(weights))
    ]
    slider = {
        "steps": steps,
        "currentvalue": {"prefix": "head ", "font": {"color": INK, "size": 13}},
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 8, "l": 0, "r": 0},
        "bgcolor": HEAT,
        "activebgcolor": HEAT,
        "bordercolor": "var(--line)",
        "tickcolor": "var(--line)",
        "font": {"color": SOFT, "size": 10},
    }
    many = max(queries, keys) > _CROWDED
    return chart(
        attention.name or "attention",
        traces,
        height=680 if many else 540,
        xaxis=token_axis(columns, ticks="", tickfont={"size": 8 if many else 10}),
        yaxis=token_axis(rows, autorange="reversed", ticks="", tickfont={"size": 8 if many else 10}, tickangle=0),
        sliders=[slider] if len(weights) > 1 else [],
        margin={"l": 30, "r": 10, "t": 90 if len(weights) > 1 else 12, "b": 30},
    )
