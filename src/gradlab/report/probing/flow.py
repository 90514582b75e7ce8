"""From layer to layer: how activations and gradients keep or lose their size."""

import math
from typing import TYPE_CHECKING

from gradlab.probes import Layer
from gradlab.report.charts import ACCENT, INK, TRAIN, Trace, axis, chart, charts, label
from gradlab.report.markup import Html, join, section, table, tag
from gradlab.report.probing.tables import percent, shape, title
from gradlab.wording import count, number

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_MOST = 80  # layers in a chart
_BAR, _HEIGHT = 3, 26  # of a histogram, in pixels


def section_of(probe: "Probe") -> Html:
    """Charts over all layers, and a line for each; nothing for a model without layers."""
    if not probe.layers:
        return Html()
    shown = probe.layers[:_MOST]
    drawn = [_activations(shown), *([_gradients(shown)] if probe.loss is not None else [])]
    more = f" The first {_MOST} of {len(probe.layers)} layers are drawn." if len(probe.layers) > _MOST else ""
    words = f"In the order in which they are computed, from the input at the top to the output at the bottom.{more}"
    return section("Layer by layer", tag("p", words, class_="quiet"), charts(*drawn), tag("br"), _lines(probe.layers))


def _activations(layers: list[Layer]) -> Html:
    low, first, middle, third, high = zip(*(layer.outputs.quantiles for layer in layers), strict=True)
    boxes = {
        "type": "box",
        "orientation": "h",
        "y": _names(layers),
        "lowerfence": low,
        "q1": first,
        "median": middle,
        "q3": third,
        "upperfence": high,
        "line": {"color": ACCENT, "width": 1.5},
        "hoverinfo": "x",
    }
    note = "Boxes hold the middle half of a layer's outputs, the whiskers all but 1 % at either end."
    return _by_layer("What each layer gives", [boxes], layers, note, xaxis=axis("value"), showlegend=False)


def _gradients(layers: list[Layer]) -> Html:
    parts = [
        ("of its outputs", ACCENT, "circle", [layer.gradient for layer in layers]),
        ("of its parameters", TRAIN, "diamond", [layer.weight_gradient for layer in layers]),
    ]
    traces: list[Trace] = [
        {
            "name": name,
            "y": _names(layers),
            "x": [value if value else None for value in values],
            "mode": "markers",
            "marker": {"color": colour, "size": 8, "symbol": symbol},
            "hovertemplate": "%{x:.3~g}<extra></extra>",
        }
        for name, colour, symbol, values in parts
    ]
    note = "The norm of the loss's gradient. Where it falls by powers of ten towards the input, it vanishes."
    scale = axis("norm, logarithmic", type="log", exponentformat="power")
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"color": INK}}
    return _by_layer("What gradient reaches each layer", traces, layers, note, xaxis=scale, legend=legend)


def _by_layer(heading: str, traces: list[Trace], layers: list[Layer], note: str, **layout: object) -> Html:
    names = {"type": "category", "range": [len(layers) - 0.5, -0.5], "tickfont": {"size": 11, "color": INK}}
    height = 110 + 20 * len(layers)
    margin = {"l": 56, "r": 16, "t": 40, "b": 44}  # the same for both charts, whose lines then stand side by side
    return chart(heading, traces, note, height=max(height, 240), yaxis=axis("", **names), margin=margin, **layout)


def _names(layers: list[Layer]) -> list[str]:
    return [label(title(layer)) for layer in layers]


def _lines(layers: list[Layer]) -> Html:
    columns = ["layer", "output", "values", "mean", "std", "zero", "dead units", "saturated"]
    columns += ["‖∂output‖", "parameters", "‖∂w‖/‖w‖"]
    rows = [
        [
            join([layer.name or "output", tag("div", layer.kind, class_="quiet")]),
            shape(layer),
            _bars(layer.outputs.counts),
            number(layer.outputs.mean),
            number(layer.outputs.std),
            _meter(layer.zeros),
            f"{layer.dead} of {layer.units}" if layer.dead else "–",
            _meter(layer.saturated),
            number(layer.gradient),
            count(layer.parameters) if layer.parameters else "–",
            number(layer.ratio),
        ]
        for layer in layers
    ]
    note = (
        "A dead unit is 0 for every example. A saturated input lies where the activation's slope is below 0.01. "
        "‖∂w‖/‖w‖ is the share of itself by which a layer's parameters would move at a learning rate of 1."
    )
    return tag("figure", table(columns, rows, class_="layers"), tag("figcaption", note))


def _bars(counts: list[int]) -> Html:
    """A histogram as a small picture."""
    most = max(counts) or 1
    heights = [math.ceil(_HEIGHT * count / most) for count in counts]
    bars = [
        tag("rect", x=str(_BAR * i), y=str(_HEIGHT - h), width=str(_BAR - 0.5), height=str(h))
        for i, h in enumerate(heights)
    ]
    size = {"width": str(_BAR * len(counts)), "height": str(_HEIGHT)}
    return tag("svg", *bars, class_="bars", role="img", **size)


def _meter(share: float | None) -> Html | str:
    return "–" if share is None else tag("span", percent(share), class_="meter", style=f"--share: {share:.3f}")
