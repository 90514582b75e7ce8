"""From layer to layer: how activations and gradients keep or lose their size."""

import math

from gradlab.markup import Html, join, long, quiet, section, table, tag
from gradlab.probes import Inspection, LayerValues
from gradlab.probes.tables import percent, shape, title
from gradlab.report.charts import ACCENT, INK, TRAIN, Trace, axis, chart, charts, dots, label, log_scale, meter
from gradlab.wording import count, number

_MOST = 80  # layers in a chart
_BAR, _HEIGHT = 3, 26  # of a histogram, in pixels


def section_of(seen: Inspection) -> Html:
    """Charts over all layers, and a line for each; nothing for a model without layers."""
    if not seen.layers:
        return Html()
    shown = seen.layers[:_MOST]
    figures = [_activations(shown), *([_gradients(shown)] if seen.loss is not None else [])]
    more = f" The first {_MOST} of {len(seen.layers)} layers are drawn." if len(seen.layers) > _MOST else ""
    words = f"In the order in which they are computed, from the input at the top to the output at the bottom.{more}"
    return section("Layer by layer", quiet(words), charts(*figures), _table(seen.layers))


def _activations(layers: list[LayerValues]) -> Html:
    quantiles = zip(*(layer.outputs.quantiles for layer in layers), strict=True)
    box = dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), quantiles, strict=True))
    style = {"line": {"color": ACCENT, "width": 1.5}, "hoverinfo": "x"}
    boxes = {"type": "box", "orientation": "h", "y": _names(layers), **box, **style}
    note = "Boxes hold the middle half of a layer's outputs, the whiskers all but 1 % at either end."
    return _by_layer("What each layer gives", [boxes], layers, note, xaxis=axis("value"), showlegend=False)


def _gradients(layers: list[LayerValues]) -> Html:
    parts = [
        ("of its outputs", ACCENT, "circle", [layer.gradient or None for layer in layers]),
        ("of its parameters", TRAIN, "diamond", [layer.weight_gradient or None for layer in layers]),
    ]
    traces = [
        dots(name, norms, _names(layers), color, "%{x:.3~g}<extra></extra>", size=8, symbol=symbol)
        for name, color, symbol, norms in parts
    ]
    note = "The norm of the loss's gradient. Where it falls by powers of ten towards the input, it vanishes."
    scale = axis("norm, logarithmic", **log_scale(norm for *_, norms in parts for norm in norms))
    return _by_layer("What gradient reaches each layer", traces, layers, note, xaxis=scale)


def _by_layer(heading: str, traces: list[Trace], layers: list[LayerValues], note: str, **layout: object) -> Html:
    names = {"type": "category", "range": [len(layers) - 0.5, -0.5], "tickfont": {"size": 11, "color": INK}}
    height = 110 + 20 * len(layers)
    margin = {"l": 56, "r": 16, "t": 40, "b": 44}  # the same for both charts, whose lines then stand side by side
    return chart(heading, traces, note, height=max(height, 240), yaxis=axis("", **names), margin=margin, **layout)


def _names(layers: list[LayerValues]) -> list[str]:
    return [label(title(layer)) for layer in layers]


def _table(layers: list[LayerValues]) -> Html:
    columns = ["layer", "output", "values", "mean", "std", "zero", "dead units", "saturated"]
    columns += ["‖∂output‖", "parameters", "‖∂w‖/‖w‖"]
    rows = [
        [
            join([layer.name or "output", tag("div", layer.kind, class_="quiet")]),
            shape(layer),
            _histogram(layer.outputs.counts),
            number(layer.outputs.mean),
            number(layer.outputs.std),
            meter(layer.zeros, percent(layer.zeros)),
            f"{layer.dead} of {layer.units}" if layer.dead else "–",
            "–" if layer.saturated is None else meter(layer.saturated, percent(layer.saturated)),
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
    return long(len(rows), "Figures of all layers", table(columns, rows, class_="layers"), tag("figcaption", note))


def _histogram(counts: list[int]) -> Html:
    """A histogram as a small picture."""
    heights = [math.ceil(_HEIGHT * count / (max(counts) or 1)) for count in counts]
    bars = [
        tag("rect", x=str(_BAR * i), y=str(_HEIGHT - h), width=str(_BAR - 0.5), height=str(h))
        for i, h in enumerate(heights)
    ]
    size = {"width": str(_BAR * len(counts)), "height": str(_HEIGHT)}
    return tag("svg", *bars, class_="bars", role="img", **size)
