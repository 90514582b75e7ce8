"""How the run went: loss and metrics over the epochs or steps, and the signs of a healthy training."""

import math
from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, quiet, section
from gradlab.report import charts as draw
from gradlab.report.charts import ACCENT, TRAIN, VALIDATION, Trace, axis, chart, charts, thinned
from gradlab.specs import Environment
from gradlab.wording import name_of, number

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks import Criterion

Lines = list[dict[str, Any]]
Log = dict[str, Lines]

_ALWAYS = {"step", "epoch", "split", "loss", "lr", "gradient_norm", "update_ratio", "seconds"}  # in lines of training
_FROM_ZERO: dict[str, Any] = {"type": "linear", "rangemode": "tozero"}


def learning_section(run: "Run") -> Html:
    """Loss and every metric, on training examples and on the validation split."""
    from gradlab.tasks.rare_class import selection_reason

    log, criterion = _log(run), run.task.criterion
    rare = selection_reason(run.task)
    why = f", since {rare}" if rare else ""
    words = [
        f"The best step is the one with the {_best(criterion)}{why}. The untrained model may lie outside of a chart."
    ]
    if log["train-sample"]:
        sample = "The train sample is as many training examples as the validation split has"
        words.insert(0, f"{sample}, judged at the same moments.")
    if log["train"] and log["train"][0]["update_ratio"] and _clock(run) == "step":
        updates, steps = log["train"][-1]["step"], run.recipe.data.values["steps"]
        words.append(f"A step here is an update: {updates:,} of them for {steps:,} steps in the environment.")
    knobs = run.recipe.task.values
    if knobs.get("label_smoothing") or knobs.get("class_weights", "none") != "none":
        minimised = "the one that is minimised, with smoothed labels or weighted classes"
        words.append(f"The loss of the train steps is {minimised}.")
    parts = [name for name in (log["train"][-1] if log["train"] else {}) if name not in _ALWAYS]  # losses by name
    figures = run.task.figure_names if log["validation"] else []
    order = [*figures, "loss", *parts] if _clock(run) == "step" else ["loss", *parts, *figures]  # returns are the point
    drawn = [_progress(log, metric, criterion, _clock(run)) for metric in dict.fromkeys(order)]
    return section("Learning", quiet(" ".join(words)) if log["validation"] else "", charts(*drawn))


def _best(criterion: "Criterion") -> str:
    return f"{'highest' if criterion.higher_is_better else 'lowest'} validation {name_of(criterion.figure)}"


def _progress(log: Log, metric: str, criterion: "Criterion", clock: str) -> Html:
    """One figure over the training; losses are there of the steps themselves too."""
    traces = []
    if any(metric in line for line in log["train"]):
        traces.append(_curve("train steps, averaged", log["train"], metric, TRAIN, clock, width=1, opacity=0.7))
    if log["validation"]:
        traces.append(_curve("train sample", log["train-sample"], metric, TRAIN, clock))
        traces.append(_curve("validation", log["validation"], metric, VALIDATION, clock))
        choose = max if criterion.higher_is_better else min
        best = choose(log["validation"], key=lambda line: line[criterion.figure])
        traces += [_best_step(best, metric, clock)] if metric in best else []
    name = name_of(metric)
    scale = draw.scale(_values(traces)) if metric == "loss" else {}
    return _over(clock, name[0].upper() + name[1:], name, traces, scale or _trained_range(log, metric))


def _trained_range(log: Log, metric: str) -> dict[str, Any]:
    """From the lowest to the highest figure after the first step: that of the untrained model would dwarf the rest."""
    lines = [line for split in ("train", "train-sample", "validation") for line in log[split] if line["step"]]
    values = [line[metric] for line in lines if math.isfinite(line.get(metric, math.nan))]
    room = 0.06 * (max(values) - min(values)) if values else 0.0
    return {"range": [min(values) - room, max(values) + room]} if room else {}


def health_section(run: "Run") -> Html:
    """Learning rate, gradient norm, and how far each update moves each layer; nothing where there are no gradients."""
    lines, clock = _log(run)["train"], _clock(run)
    layers = list(lines[0]["update_ratio"]) if lines else []
    if lines and not layers:
        return Html()
    ratios = [
        _curve(layer, [{**line, "ratio": line["update_ratio"][layer] or None} for line in lines], "ratio", color, clock)
        for layer, color in zip(layers, draw.line_colors(len(layers)), strict=False)
    ]
    named = draw.has_legend(len(layers))
    norms = [_curve("gradient norm", lines, "gradient_norm", ACCENT, clock)]
    rates = [_curve("learning rate", lines, "lr", ACCENT, clock)]
    ratio_note = (
        "How far one step moves each layer, relative to its size. Around 0.001 (the band) is a good rule of thumb: far "
        f"above, steps are rash and training may blow up; far below, the layer hardly learns."
        f"{'' if named else draw.BY_DEPTH_NOTE}"
    )
    norm_note = (
        "Length of the gradient over all parameters, before clipping. It should be steady or fall; sudden peaks are "
        "the first sign of divergence."
    )
    rate_note = "The size of a step, after the schedule."
    shape = {"shapes": [draw.healthy_updates()], "showlegend": named}
    figures = [
        _over(
            clock,
            "Update-to-weight ratio",
            "‖update‖ / ‖weight‖",
            ratios,
            draw.log_scale(_values(ratios)),
            ratio_note,
            **shape,
        ),
        _over(clock, "Gradient norm", "‖gradient‖", norms, draw.log_scale(_values(norms)), norm_note, showlegend=False),
        _over(clock, "Learning rate", "learning rate", rates, _FROM_ZERO, rate_note, showlegend=False),
    ]
    return section("Health of the training", charts(*figures))


def _log(run: "Run") -> Log:
    """The metrics log by split."""
    log: Log = {"train": [], "train-sample": [], "validation": []}
    for line in run.metrics:
        log.setdefault(line["split"], []).append(line)
    return log


def _clock(run: "Run") -> str:
    """What the axes of a training count: passes over its examples or, where it acts and has none, steps."""
    return "step" if isinstance(run.preprocessing.spec, Environment) else "epoch"


def _over(
    clock: str, title: str, y: str, traces: list[Trace], scale: dict[str, Any], note: str = "", **layout: Any
) -> Html:
    return chart(title, traces, note, xaxis=axis(clock, rangemode="tozero"), yaxis=axis(y, **scale), **layout)


def _curve(name: str, lines: Lines, key: str, color: str, clock: str, **options: Any) -> Trace:
    lines = thinned([line for line in lines if key in line])  # a metric that is undefined has no figure
    x, y = [line[clock] for line in lines], [line[key] for line in lines]
    words = f"%{{fullData.name}}<br>{clock} %{{x:.4~g}}: %{{y:.4~g}}<extra></extra>"
    return draw.line(name, x, y, color, words, **options)


def _best_step(best: dict[str, Any], metric: str, clock: str) -> Trace:
    """The step with the best validation figure, whichever metric is drawn."""
    ring: dict[str, Any] = {"size": 11, "line": {"color": VALIDATION, "width": 2.5}}
    name = f"best step, {best['step']:,}: {number(best[metric])}"
    trace = draw.dots(name, [best[clock]], [best[metric]], "rgba(0,0,0,0)", **ring)
    return trace | {"cliponaxis": False, "hoverinfo": "name"}


def _values(traces: list[Trace]) -> list[float]:
    return [y for trace in traces for y in trace["y"]]
