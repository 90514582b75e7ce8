"""Attention as pictures: all heads side by side, and each layer with its tokens."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, quiet, section, tag
from gradlab.probes import AttentionMap, Head, Inspection
from gradlab.report.charts import CARD, HEAT, chart, charts, heatmap
from gradlab.report.inside.text import places_of, token_axis
from gradlab.report.pictures import picture, signed
from gradlab.report.sliders import slider

_LAYERS, _HEADS, _PLACES = 12, 16, 64  # that are drawn
_ABOVE: dict[str, Any] = {"y": 1, "yanchor": "bottom", "pad": {"b": 8, "l": 0, "r": 0}}
_CROWDED = 40  # places whose names need smaller letters


def section_of(seen: Inspection) -> Html:
    """Nothing for a model without attention, or whose attention has no weights to show."""
    shown = [a for a in seen.attention if a.weights is not None]
    if not shown:
        return Html()
    texts = [token.text for token in seen.tokens]
    words = (
        "Of the first example: what each query (a row) takes from each key (a column); rows sum to 1. Captions are "
        f"means over all examples: how spread the weight is, and how far from itself a query looks.{_left_out(shown)}"
    )
    overview = [part for a in shown[:_LAYERS] for part in (tag("b", a.name), _thumbnails(a))]
    closer = charts(*(_closer(a, texts) for a in shown[:_LAYERS]))
    return section("Attention", quiet(words), tag("figure", tag("div", *overview, class_="heads")), closer)


def _left_out(shown: list[AttentionMap]) -> str:
    heads, queries, keys = (max(a.weights.shape[i] for a in shown if a.weights is not None) for i in (1, 2, 3))
    places = max(queries, keys)
    limits = [(len(shown), _LAYERS, "layers"), (heads, _HEADS, "heads of a layer"), (places, _PLACES, "places")]
    parts = [f"the first {most} of {total} {what}" for total, most, what in limits if total > most]
    return f" Drawn are {', '.join(parts)}." if parts else ""


def _weights(attention: AttentionMap) -> npt.NDArray[np.float64]:
    """Of the first example, as many as are drawn."""
    assert attention.weights is not None
    weights: npt.NDArray[np.float64] = attention.weights[0, :_HEADS, :_PLACES, :_PLACES].double().cpu().numpy()
    return weights


def _thumbnails(attention: AttentionMap) -> Html:
    # The root lets weights be seen that are spread over many keys.
    drawn = [
        picture(signed(np.sqrt(weights)), f"{attention.name}, head {i}", f"head {i}: {_caption(head)}")
        for i, (weights, head) in enumerate(zip(_weights(attention), attention.heads, strict=False))
    ]
    return tag("div", *drawn, class_="pictures small")


def _caption(head: Head) -> str:
    return f"{head.entropy:.1f} bits{'' if head.distance is None else f', {head.distance:.1f} away'}"


def _closer(attention: AttentionMap, texts: list[str]) -> Html:
    """One head at a time, chosen by a slider."""
    weights = _weights(attention)
    heads, queries, keys = weights.shape
    named = attention.itself and len(texts) >= keys
    rows, columns = (places_of(texts[:n] if named else [str(i) for i in range(n)]) for n in (queries, keys))
    hover, colors = "%{y} looks at %{x}: %{z:.3f}<extra></extra>", [(0, CARD), (1, HEAT)]
    traces = [
        heatmap(np.round(head, 4), colors, hover, x=columns, y=rows, zmin=0, visible=i == 0)
        for i, head in enumerate(weights)
    ]
    many, several = max(queries, keys) > _CROWDED, heads > 1
    ticks: dict[str, Any] = {"ticks": "", "tickfont": {"size": 8 if many else 10}}
    return chart(
        attention.name or "attention",
        traces,
        height=680 if many else 540,
        xaxis=token_axis(columns, **ticks),
        yaxis=token_axis(rows, autorange="reversed", **ticks, tickangle=0),
        sliders=[slider("head ", [str(i) for i in range(heads)], range(heads), **_ABOVE)] if several else [],
        margin={"l": 30, "r": 10, "t": 90 if several else 12, "b": 30},
    )
