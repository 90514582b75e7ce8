"""Several runs on one page: their curves over each other, what came out, and what was asked for otherwise."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError
from gradlab.files import write_file
from gradlab.markup import Html, join, long, quiet, section, table, tag
from gradlab.report.bands import Curve
from gradlab.report.charts import Trace, axis, chart, charts, has_legend, line, line_colors, scale, thinned
from gradlab.report.page import page
from gradlab.wording import as_typed, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.run import Run

Differences = Mapping[str, Mapping[str, Sequence[Any]]]
"""By section (recipe, environment) and key: the value of each run."""

_SPLITS = {"train": "Training", "train-sample": "Training", "validation": "Validation"}


def write_comparison(runs: Sequence["Run"], differences: Differences, path: Path) -> Path:
    """Write the page of some runs."""
    names = _names(runs)
    sections = [
        _head(names),
        _results(runs, names),
        _differing("Knobs that differ", names, differences["recipe"]),
        _curves(runs, names),
        _differing("What differs in where they ran", names, differences["environment"]),
    ]
    write_file(path, page(" · ".join(names), join(sections)))
    return path


def _names(runs: Sequence["Run"]) -> list[str]:
    """The folders, by their last part if that distinguishes them."""
    short = [run.path.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run.path) for run in runs]


def _head(names: list[str]) -> Html:
    title = " and ".join(names) if len(names) == 2 else f"{len(names)} runs"
    return tag("header", tag("p", "Comparison", class_="over"), tag("h1", title))


def _headline(run: "Run") -> str:
    """The most telling figure of its task; where that needs code of one's own, the first that was logged."""
    try:
        return run.task.headline
    except GradlabError:
        logged = next((line for line in run.metrics if line["split"] == "validation"), {})
        return next((name for name in logged if name not in ("step", "epoch", "split", "loss", "seconds")), "loss")


def _figures(runs: Sequence["Run"]) -> list[str]:
    return list(dict.fromkeys(["loss", *map(_headline, runs)]))


def _results(runs: Sequence["Run"], names: list[str]) -> Html:
    columns = [(split, figure) for figure in _figures(runs) for split in ("validation", "test")]
    rows = []
    for run, name, color in zip(runs, names, line_colors(len(runs)), strict=False):
        result = run.result or {}
        cells = [result.get("steps"), result.get("parameters"), *(result.get(s, {}).get(f) for s, f in columns)]
        time = duration(result["seconds"]) if result else "not finished"
        rows.append([_marked(name, color), *map(number, cells), time])
    head = ["run", "steps", "parameters", *(f"{s} {name_of(f)}" for s, f in columns), "time"]
    return section("Results", tag("figure", table(head, rows, class_="numbers")))


def _marked(name: str, color: str) -> Html:
    """A name with the colour of its curves."""
    return tag("span", tag("span", "● ", style=f"color: {color}"), name, style="white-space: nowrap")


def _curves(runs: Sequence["Run"], names: list[str]) -> Html:
    logs = [run.metrics for run in runs]
    figures = []
    for figure in _figures(runs):
        for split in ("train" if figure == "loss" else "train-sample", "validation"):
            curves = [Curve.of(name, log, split, figure) for name, log in zip(names, logs, strict=True)]
            if any(curve.steps for curve in curves):
                figures.append(_overlaid(f"{_SPLITS[split]} {name_of(figure)}", name_of(figure), curves))
    if not figures:
        return Html()
    words = "The untrained models, before the first step, are not drawn."
    words += "" if has_legend(len(runs)) else " The colours are those of the table; point at a line to see its name."
    return section("Curves", quiet(words), charts(*figures))


def _overlaid(title: str, y: str, curves: list[Curve]) -> Html:
    traces = [_trace(c, color) for c, color in zip(curves, line_colors(len(curves)), strict=False) if c.steps]
    values = scale([v for trace in traces for v in trace["y"]]) if y == "loss" else {}
    legend = has_legend(len(curves))
    return chart(
        title, traces, height=360, xaxis=axis("step", rangemode="tozero"), yaxis=axis(y, **values), showlegend=legend
    )


def _trace(curve: Curve, color: str) -> Trace:
    points = thinned(list(zip(curve.steps, curve.values, strict=True)))
    hover = "%{fullData.name}<br>step %{x:,}: %{y:.4~g}<extra></extra>"
    return line(curve.name, [step for step, _ in points], [value for _, value in points], color, hover)


def _differing(title: str, names: list[str], values: Mapping[str, Sequence[Any]]) -> Html:
    if not values:
        return section(title, quiet("Nothing does."))
    rows = [[key, *map(as_typed, several)] for key, several in values.items()]
    return section(title, long(len(rows), "All of them", table(["", *names], rows, class_="numbers")))
