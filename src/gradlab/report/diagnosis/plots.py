"""The course of a training: losses, gradients, updates, activations and learning rates over its steps."""

import math
from collections.abc import Sequence
from typing import Any

from gradlab.diagnosis.finding import Finding, Verdict
from gradlab.diagnosis.progress import constant_loss
from gradlab.diagnosis.record import Loss, Record
from gradlab.diagnosis.series import Series
from gradlab.report.charts import GOOD, PALETTE, SOFT, TRAIN, VALIDATION, Trace, axis, chart, charts, label
from gradlab.report.markup import Html, join, section

_POINTS = 400  # of a line: more are not seen apart
_LINES = 40  # of a chart
_NAMED = len(PALETTE)  # lines that are told apart by a colour each, and named in a legend
_BY_DEPTH = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377"]  # from the input to the loss
_HEALTHY = (3e-4, 3e-3)  # updates of about a thousandth of the weights, half a decade either way

_LOGARITHMIC: dict[str, Any] = {"type": "log"}
_SHARE: dict[str, Any] = {"range": [-0.02, 1.02], "tickformat": ".0%"}

Lines = Sequence[tuple[str, Series]]


def sections_of(record: Record, verdict: Verdict) -> Html:
    """Those that have something to draw."""
    made = {
        "The course of the training": [*_losses(record, verdict), *_optimisers(record)],
        "Layer by layer": [*_gradients(record), *_updates(record), *_activations(record), *_through_time(record)],
    }
    return join(section(title, charts(*figures)) for title, figures in made.items() if figures)


def _losses(record: Record, verdict: Verdict) -> list[Html]:
    several = len(record.losses) > 1
    trained = [(_named(loss, several), loss.values) for loss in record.losses if loss.values]
    if not trained:
        return []
    traces = _traces(trained) if several else [_trace(*trained[0], TRAIN)]
    judged = [(f"{j.kind}, gradients off", j.values) for j in record.judged if not j.training and j.values]
    for (name, values), colour in zip(judged, [VALIDATION, *reversed(PALETTE)], strict=False):
        dots = {"mode": "lines+markers", "marker": {"color": colour, "size": 5}}
        traces.append(_trace(name, values, colour) | dots)
    causes = [f for f in verdict.findings if f.severity != "note" and f.follows_from is None]
    shapes, annotations = _marks([f for f in causes if f.since_step > 0])
    constant = constant_loss(record)
    notes = ["What backward() was called on."]
    if math.isfinite(constant):
        shapes.append(_level(constant, SOFT))
        notes.append("Dotted, level: what the best constant prediction would give.")
    if judged:
        notes.append("With gradients off: what a loss function gave in evaluation.")
    if (first := min((s.not_finite for s in record.losses if s.not_finite is not None), default=None)) is not None:
        notes.append(f"From step {first:,} on it was not a number.")
    return [_over_steps("Loss", "loss", traces, " ".join(notes), shapes=shapes, annotations=annotations, height=360)]


def _named(loss: Loss, several: bool) -> str:
    return f"loss at {_short(str(loss.site))}" if several and loss.site is not None else "loss"


def _short(place: str) -> str:
    return place.rsplit("/", 1)[-1]


def _gradients(record: Record) -> list[Html]:
    lines = [(name, record.parameters[name].gradient) for name in _layers(record)]
    note = (
        "The norm of each weight's gradient, as the optimiser finds it. Where it falls by powers of ten from the loss "
        "towards the input, it vanishes."
    )
    return _by_layer("Gradient norm", "‖gradient‖", lines, note)


def _updates(record: Record) -> list[Html]:
    lines = [(name, record.parameters[name].update) for name in _layers(record)]
    note = (
        "How far one step moves each weight, relative to its size. Around 0.001 (the band) is a good rule of thumb: "
        "far above, steps are rash; far below, the layer hardly learns."
    )
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": _HEALTHY[0], "y1": _HEALTHY[1]}
    shape = {**band, "fillcolor": GOOD, "opacity": 0.16, "line": {"width": 0}, "layer": "below"}
    return _by_layer("Update-to-weight ratio", "‖update‖ / ‖weight‖", lines, note, shapes=[shape])


def _layers(record: Record) -> list[str]:
    """Matrices and kernels, or whatever was trained where there are none."""
    weights = [p.name for p in record.trained_weights()]
    return weights or [p.name for p in record.parameters.values() if p.gradient or p.update]


def _activations(record: Record) -> list[Html]:
    seen = sorted(record.activations, key=lambda a: a.order)
    parts = [
        ("Dead units", "share of units", "Units that were 0 for every example of the last looks.", "dead"),
        (
            "Saturated outputs",
            "share of outputs",
            "Within 1 % of where a tanh or sigmoid ends: no slope there.",
            "saturated",
        ),
    ]
    made = []
    for title, y, note, what in parts:
        lines = [(f"{a.where} ({a.kind})", getattr(a, what)) for a in seen]
        made += _by_layer(title, y, lines, note, _SHARE)
    return made


def _optimisers(record: Record) -> list[Html]:
    several = len(record.optimizers) > 1
    names = [f"{o.kind} {o.number}" if several else o.kind for o in record.optimizers]
    rates = [(n, o.rate) for n, o in zip(names, record.optimizers, strict=True) if o.rate]
    norms = [(n, o.gradient) for n, o in zip(names, record.optimizers, strict=True) if o.gradient]
    made = []
    if rates:
        note = "The size of a step, after any schedule; of several groups the largest."
        made.append(
            _over_steps(
                "Learning rate",
                "learning rate",
                _traces(rates),
                note,
                scale={"rangemode": "tozero"},
                showlegend=several,
            )
        )
    if norms:
        limits = [c.limit for c in record.clippings if not c.by_value]
        note = "Over all parameters of an optimiser, as it finds it." + (
            " Dotted: where it is clipped." if limits else ""
        )
        shapes = [_level(limit, SOFT) for limit in limits]
        made.append(
            _over_steps(
                "Norm of the whole gradient", "‖gradient‖", _traces(norms), note, shapes=shapes, showlegend=several
            )
        )
    return made


def _through_time(record: Record) -> list[Html]:
    lines = [(path, series) for path, series in record.recurrent.items() if len(series) > 1]
    note = (
        "What comes back to each time step, at the last look. Where it falls by powers of ten towards the left, early "
        "inputs are not learned from."
    )
    return _by_layer("Gradient by time step", "‖gradient‖", lines, note, x="time step")


def _by_layer(
    title: str, y: str, lines: Lines, note: str, scale: dict[str, Any] = _LOGARITHMIC, **layout: Any
) -> list[Html]:
    """A line for each layer; nothing where none was seen."""
    shown = [(name, series) for name, series in lines if series]
    if not shown:
        return []
    if len(shown) > _LINES:
        note += f" Drawn are {_LINES} of {len(shown)} layers, evenly chosen."
        shown = [shown[round(i * (len(shown) - 1) / (_LINES - 1))] for i in range(_LINES)]
    if len(shown) > _NAMED:
        note += " From blue, near the input, to red, near the loss; point at a line to see its name."
    return [_over_steps(title, y, _traces(shown), note, showlegend=len(shown) <= _NAMED, scale=scale, **layout)]


def _traces(lines: Lines) -> list[Trace]:
    colours = PALETTE if len(lines) <= _NAMED else _ramp(len(lines))
    return [_trace(name, series, colour) for (name, series), colour in zip(lines, colours, strict=False)]


def _trace(name: str, series: Series, colour: str) -> Trace:
    steps, values = series.thinned(_POINTS)
    return {
        "name": label(name),
        "x": steps,
        "y": [float(f"{v:.4g}") for v in values],
        "mode": "lines" if len(steps) > 1 else "markers",
        "line": {"color": colour, "width": 1.8},
        "marker": {"color": colour},
        "hovertemplate": "%{fullData.name}<br>step %{x}: %{y:.4~g}<extra></extra>",
    }


def _ramp(number: int) -> list[str]:
    """Colours from the input to the loss."""
    return [_between(i * (len(_BY_DEPTH) - 1) / (number - 1)) for i in range(number)]


def _between(place: float) -> str:
    first = min(int(place), len(_BY_DEPTH) - 2)
    ends = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in _BY_DEPTH[first : first + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - first)):02x}" for a, b in zip(*ends, strict=True))


def _over_steps(
    title: str,
    y: str,
    traces: list[Trace],
    note: str,
    x: str = "step",
    scale: dict[str, Any] | None = None,
    **layout: Any,
) -> Html:
    scale = scale or _scale(traces)
    if scale.get("type") == "log":
        traces = [trace | {"y": [v if v > 0 else None for v in trace["y"]]} for trace in traces]
        scale = {**scale, **_ticks(traces)}
    return chart(title, traces, note, xaxis=axis(x, rangemode="tozero"), yaxis=axis(y, **scale), **layout)


def _scale(traces: list[Trace]) -> dict[str, Any]:
    """Logarithmic where two orders of magnitude or more would not be seen otherwise."""
    values = [v for trace in traces for v in trace["y"] if math.isfinite(v)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if 0 < 100 * low < high:
        return _LOGARITHMIC
    return {"rangemode": "tozero"} if low >= 0 else {}


def _ticks(traces: list[Trace]) -> dict[str, Any]:
    """At 1 and 3 of every decade; of many decades at 1 alone, or at 1 of every second, third, …"""
    values = [v for trace in traces for v in trace["y"] if v is not None and math.isfinite(v)]
    low, high = (math.floor(math.log10(end(values, default=1))) for end in (min, max))
    every, digits = max(1, (high - low) // 6), (1, 3) if high - low < 3 else (1,)
    ticks = [float(f"{digit}e{decade}") for decade in range(low - 1, high + 2, every) for digit in digits]
    return {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _level(value: float, colour: str) -> dict[str, Any]:
    line = {"color": colour, "width": 1.5, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value, "line": line}


def _marks(findings: Sequence[Finding]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Where findings begin, as lines across a chart with their names."""
    line = {"color": "var(--poor)", "width": 1.5, "dash": "dot"}
    shapes = [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": f.since_step, "x1": f.since_step, "line": line}
        for f in findings
    ]
    notes = [
        {
            "x": f.since_step,
            "yref": "paper",
            "y": 1 - 0.07 * i,
            "text": label(f.slug),
            "showarrow": False,
            "xanchor": "left",
            "yanchor": "top",
            "xshift": 4,
            "font": {"color": "var(--poor)", "size": 11},
        }
        for i, f in enumerate(findings)
    ]
    return shapes, notes
