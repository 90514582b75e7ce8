"""The course of a training: losses, gradients, updates, activations and learning rates over its steps."""

import math
from collections.abc import Sequence
from typing import Any

from gradlab.diagnosis.finding import Finding, Verdict
from gradlab.diagnosis.progress import constant_loss
from gradlab.diagnosis.record import Loss, Record
from gradlab.diagnosis.series import Series
from gradlab.markup import Html, join, section
from gradlab.report import charts as draw
from gradlab.report.charts import LOGARITHMIC, PALETTE, POOR, TRAIN, VALIDATION, Trace, axis, chart, charts, label

_POINTS = 400  # of a line: more are not seen apart
_LINES = 40  # of a chart

_SHARE: dict[str, Any] = {"range": [-0.02, 1.02], "tickformat": ".0%"}

Lines = Sequence[tuple[str, Series]]


def sections_of(record: Record, verdict: Verdict) -> Html:
    """Those that have something to draw."""
    sections = {
        "The course of the training": [*_losses(record, verdict), *_optimisers(record)],
        "Layer by layer": [*_gradients(record), *_updates(record), *_activations(record), *_through_time(record)],
    }
    return join(section(title, charts(*figures)) for title, figures in sections.items() if figures)


def _losses(record: Record, verdict: Verdict) -> list[Html]:
    several = len(record.losses) > 1
    trained = [(loss_name(loss, several), loss.values) for loss in record.losses if loss.values]
    if not trained:
        return []
    traces = _traces(trained) if several else [_trace(*trained[0], TRAIN)]
    evaluated = [(f"{j.kind}, gradients off", j.values) for j in record.loss_calls if not j.training and j.values]
    for (name, values), color in zip(evaluated, [VALIDATION, *reversed(PALETTE)], strict=False):
        traces.append(_trace(name, values, color, mode="lines+markers", marker={"color": color, "size": 5}))
    causes = [f for f in verdict.findings if f.severity != "note" and f.follows_from is None and f.since_step > 0]
    shapes = [draw.level(f.since_step, across="y", color=POOR) for f in causes]
    constant = constant_loss(record)
    notes = ["What backward() was called on."]
    if math.isfinite(constant):
        shapes.append(draw.level(constant))
        notes.append("Dotted, level: what the best constant prediction would give.")
    if evaluated:
        notes.append("With gradients off: what a loss function gave in evaluation.")
    if (first := min((s.not_finite for s in record.losses if s.not_finite is not None), default=None)) is not None:
        notes.append(f"From step {first:,} on it was not a number.")
    marks = [_mark(f, i) for i, f in enumerate(causes)]
    return [_over_steps("Loss", "loss", traces, " ".join(notes), shapes=shapes, annotations=marks, height=360)]


def loss_name(loss: Loss, several: bool) -> str:
    return f"loss at {str(loss.site).rsplit('/', 1)[-1]}" if several and loss.site is not None else "loss"


def _mark(finding: Finding, place: int) -> dict[str, Any]:
    """The name of a finding where it begins."""
    at = {"x": finding.since_step, "yref": "paper", "y": 1 - 0.07 * place, "xanchor": "left", "yanchor": "top"}
    return {**at, "xshift": 4, "text": label(finding.slug), "showarrow": False, "font": {"color": POOR, "size": 11}}


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
    return _by_layer("Update-to-weight ratio", "‖update‖ / ‖weight‖", lines, note, shapes=[draw.healthy_updates()])


def _layers(record: Record) -> list[str]:
    """Matrices and kernels, or whatever was trained where there are none."""
    weights = [p.name for p in record.trained_weights()]
    return weights or [p.name for p in record.parameters.values() if p.gradient or p.update]


def _activations(record: Record) -> list[Html]:
    seen = sorted(record.activations, key=lambda a: a.order)
    dead = [(f"{a.where} ({a.kind})", a.dead) for a in seen]
    saturated = [(f"{a.where} ({a.kind})", a.saturated) for a in seen]
    words = {
        "dead": "Units that were 0 for every example of the last looks.",
        "saturated": "Within 1 % of where a tanh or sigmoid ends: no slope there.",
    }
    return [
        *_by_layer("Dead units", "share of units", dead, words["dead"], _SHARE),
        *_by_layer("Saturated outputs", "share of outputs", saturated, words["saturated"], _SHARE),
    ]


def _optimisers(record: Record) -> list[Html]:
    several = len(record.optimizers) > 1
    names = [f"{o.kind} {o.number}" if several else o.kind for o in record.optimizers]
    rates = [(n, o.rate) for n, o in zip(names, record.optimizers, strict=True) if o.rate]
    norms = [(n, o.gradient) for n, o in zip(names, record.optimizers, strict=True) if o.gradient]
    figures = []
    if rates:
        note = "The size of a step, after any schedule; of several groups the largest."
        layout: dict[str, Any] = {"scale": {"rangemode": "tozero"}, "showlegend": several}
        figures.append(_over_steps("Learning rate", "learning rate", _traces(rates), note, **layout))
    if norms:
        limits = [c.limit for c in record.clippings if not c.by_value]
        note = (
            f"Over all parameters of an optimiser, as it finds it.{' Dotted: where it is clipped.' if limits else ''}"
        )
        layout = {"shapes": [draw.level(limit) for limit in limits], "showlegend": several}
        figures.append(_over_steps("Norm of the whole gradient", "‖gradient‖", _traces(norms), note, **layout))
    return figures


def _through_time(record: Record) -> list[Html]:
    lines = [(path, series) for path, series in record.recurrent.items() if len(series) > 1]
    note = (
        "What comes back to each time step, at the last look. Where it falls by powers of ten towards the left, early "
        "inputs are not learned from."
    )
    return _by_layer("Gradient by time step", "‖gradient‖", lines, note, x="time step")


def _by_layer(
    title: str, y: str, lines: Lines, note: str, scale: dict[str, Any] = LOGARITHMIC, **layout: Any
) -> list[Html]:
    """A line for each layer; nothing where none was seen."""
    shown = [(name, series) for name, series in lines if series]
    if not shown:
        return []
    if len(shown) > _LINES:
        note += f" Drawn are {_LINES} of {len(shown)} layers, evenly chosen."
        shown = [shown[round(i * (len(shown) - 1) / (_LINES - 1))] for i in range(_LINES)]
    legend = draw.has_legend(len(shown))
    note += "" if legend else draw.BY_DEPTH_NOTE
    return [_over_steps(title, y, _traces(shown), note, showlegend=legend, scale=scale, **layout)]


def _traces(lines: Lines) -> list[Trace]:
    colors = draw.line_colors(len(lines))
    return [_trace(name, series, color) for (name, series), color in zip(lines, colors, strict=False)]


def _trace(name: str, series: Series, color: str, **options: Any) -> Trace:
    steps, values = series.thinned(_POINTS)
    hover = "%{fullData.name}<br>step %{x}: %{y:.4~g}<extra></extra>"
    return draw.line(name, steps, [float(f"{v:.4g}") for v in values], color, hover, 1.8, **options)


def _over_steps(
    title: str,
    y: str,
    traces: list[Trace],
    note: str,
    x: str = "step",
    scale: dict[str, Any] | None = None,
    **layout: Any,
) -> Html:
    values = [v for trace in traces for v in trace["y"]]
    scale = scale or draw.scale(values)
    if scale.get("type") == "log":
        scale = draw.log_scale(values)
        traces = [trace | {"y": [v if v > 0 else None for v in trace["y"]]} for trace in traces]
    return chart(title, traces, note, xaxis=axis(x, rangemode="tozero"), yaxis=axis(y, **scale), **layout)
