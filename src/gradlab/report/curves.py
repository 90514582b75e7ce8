"""How the run went: loss and metrics over the epochs, and the signs of a healthy training."""

from itertools import cycle
from typing import TYPE_CHECKING, Any

from gradlab.report.charts import (
    ACCENT,
    GOOD,
    PALETTE,
    TRAIN,
    VALIDATION,
    Trace,
    axis,
    chart,
    charts,
    falls_far,
    label,
    log_ticks,
    thinned,
)
from gradlab.report.markup import Html, section, tag
from gradlab.wording import name_of, number

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks import Criterion

Lines = list[dict[str, Any]]
Log = dict[str, Lines]

_ALWAYS = (
    "step",
    "epoch",
    "split",
    "loss",
    "lr",
    "gradient_norm",
    "update_ratio",
    "seconds",
)  # in every line of training
_HEALTHY = (3e-4, 3e-3)  # updates of about a thousandth of the weights, half a decade either way


def learning_section(run: "Run") -> Html:
    """Loss and every metric, on training examples and on the validation split."""
    log = _log(run)
    words = f"The best step is the one with the {_best(run.task.criterion)}."
    if log["train-sample"]:
        words = (
            "The train sample is as many training examples as the validation split has, judged at the same moments. "
            + words
        )
    knobs = run.recipe.task.values
    if knobs.get("label_smoothing") or knobs.get("class_weights", "none") != "none":
        words += " The loss of the train steps is the one that is minimised, with smoothed labels or weighted classes."
    parts = [name for name in (log["train"][-1] if log["train"] else {}) if name not in _ALWAYS]  # losses by name
    metrics = dict.fromkeys(["loss", *parts, *(run.task.figure_names if log["validation"] else [])])
    figures = [_progress(log, metric, run.task.criterion) for metric in metrics]
    return section("Learning", tag("p", words, class_="quiet") if log["validation"] else "", charts(*figures))


def _best(criterion: "Criterion") -> str:
    return f"{'highest' if criterion.higher_is_better else 'lowest'} validation {name_of(criterion.figure)}"


def _progress(log: Log, metric: str, criterion: "Criterion") -> Html:
    """One figure over the epochs; losses are there of the steps themselves too."""
    traces = []
    if any(metric in line for line in log["train"]):
        traces.append(_curve("train steps, averaged", log["train"], metric, TRAIN, width=1, opacity=0.7))
    if log["validation"]:
        traces.append(_curve("train sample", log["train-sample"], metric, TRAIN))
        traces.append(_curve("validation", log["validation"], metric, VALIDATION))
        choose = max if criterion.higher_is_better else min
        best = choose(log["validation"], key=lambda line: line[criterion.figure])
        traces += [_mark(best, metric)] if metric in best else []
    name, kind = name_of(metric), "log" if metric == "loss" and falls_far(_values(traces)) else "linear"
    return _over_epochs(name[0].upper() + name[1:], name, traces, kind)


def health_section(run: "Run") -> Html:
    """Learning rate, gradient norm, and how far each update moves each layer."""
    lines = _log(run)["train"]
    layers = list(lines[0]["update_ratio"]) if lines else []
    ratios = [
        _curve(label(layer), [{**line, "ratio": line["update_ratio"][layer]} for line in lines], "ratio", color)
        for layer, color in zip(layers, cycle(PALETTE))
    ]
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": _HEALTHY[0], "y1": _HEALTHY[1]}
    return section(
        "Health of the training",
        charts(
            _over_epochs(
                "Update-to-weight ratio",
                "‖update‖ / ‖weight‖",
                ratios,
                "log",
                note="How far one step moves each layer, relative to its size. Around 0.001 (the band) is a good rule "
                "of thumb: far above, steps are rash and training may blow up; far below, the layer hardly learns.",
                shapes=[{**band, "fillcolor": GOOD, "opacity": 0.16, "line": {"width": 0}, "layer": "below"}],
            ),
            _over_epochs(
                "Gradient norm",
                "‖gradient‖",
                [_curve("gradient norm", lines, "gradient_norm", ACCENT)],
                "log",
                note="Length of the gradient over all parameters, before clipping. It should be steady or fall; "
                "sudden peaks are the first sign of divergence.",
                showlegend=False,
            ),
            _over_epochs(
                "Learning rate",
                "learning rate",
                [_curve("learning rate", lines, "lr", ACCENT)],
                note="The size of a step, after the schedule.",
                showlegend=False,
            ),
        ),
    )


def _log(run: "Run") -> Log:
    """The metrics log by split."""
    log: Log = {"train": [], "train-sample": [], "validation": []}
    for line in run.metrics:
        log.setdefault(line["split"], []).append(line)
    return log


def _over_epochs(title: str, y: str, traces: list[Trace], kind: str = "linear", note: str = "", **layout: Any) -> Html:
    options = {"rangemode": "tozero"} if kind == "linear" else log_ticks(_values(traces))
    return chart(
        title,
        traces,
        note,
        xaxis=axis("epoch", rangemode="tozero"),
        yaxis=axis(y, type=kind, **options),
        **layout,
    )


def _curve(name: str, lines: Lines, key: str, color: str, width: float = 2, opacity: float = 1) -> Trace:
    lines = thinned([line for line in lines if key in line])  # a metric that is undefined has no figure
    return {
        "name": name,
        "x": [line["epoch"] for line in lines],
        "y": [line[key] for line in lines],
        "mode": "lines" if len(lines) > 1 else "markers",
        "line": {"color": color, "width": width},
        "marker": {"color": color},
        "opacity": opacity,
        "hovertemplate": "epoch %{x:.4~g}: %{y:.4~g}",
    }


def _mark(best: dict[str, Any], metric: str) -> Trace:
    """The step with the lowest validation loss, whichever metric is drawn."""
    return {
        "name": f"best step, {best['step']:,}: {number(best[metric])}",
        "x": [best["epoch"]],
        "y": [best[metric]],
        "mode": "markers",
        "marker": {"size": 11, "color": "rgba(0,0,0,0)", "line": {"color": VALIDATION, "width": 2.5}},
        "cliponaxis": False,
        "hoverinfo": "name",
    }


def _values(traces: list[Trace]) -> list[float]:
    return [y for trace in traces for y in trace["y"]]
