"""The report of a learning curve."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, card, go_on, section, tag
from gradlab.report.charts import GOOD, TRAIN, VALIDATION, Trace, axis, chart, charts
from gradlab.studies.pages.frame import cards, trainings
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.studies.learning_curve import LearningCurve

_COLORS = {"train": TRAIN, "validation": VALIDATION, "test": GOOD}


def report(result: "LearningCurve") -> Html:
    last, split = result.points[-1], result.held_out
    lead = (
        f"The same recipe trained on {result.points[0].examples:,} to {counted(last.examples, 'example')}, "
        "with equally many updates each time, so that only the data differ."
    )
    shown = list(dict.fromkeys((result.metric, "loss")))
    words = (
        "Where the two curves are far apart, the model learns its examples by heart: more data or regularisation "
        "helps. Where they have met at a poor figure, the model is too simple: more data will not help. "
        + result.verdict
    )
    return frame(
        result.recipe,
        "Learning curve",
        result.path,
        lead,
        cards(*(_card(result, split, name) for name in shown if name in last.figures(split))),
        section(
            "Figures against the number of training examples",
            tag("p", words, class_="quiet"),
            charts(*(_chart(result, name) for name in shown)),
        ),
        _table(result, shown),
        go_on({"Train on some of them": f"gradlab train {result.recipe} data.limit={result.points[0].examples}"}),
    )


def _card(result: "LearningCurve", split: str, name: str) -> Html:
    first, last = result.points[0], result.points[-1]
    beside = {f"with {first.examples:,}": number(first.figures(split).get(name))}
    beside["on the training examples"] = number(last.train.get(name))
    if name in last.baseline_figures(split):
        beside[last.baseline["name"]] = number(last.baseline_figures(split)[name])
    return card(f"{split} {name_of(name)} with all {last.examples:,}", number(last.figures(split)[name]), beside)


def _chart(result: "LearningCurve", name: str) -> Html:
    splits = [s for s in _COLORS if any(name in point.figures(s) for point in result.points)]
    traces = [_line(result, split, name) for split in splits]
    sizes = [point.examples for point in result.points]
    return chart(
        name_of(name)[0].upper() + name_of(name)[1:],
        traces,
        xaxis=axis("training examples", type="log", tickvals=sizes, ticktext=[f"{s:,}" for s in sizes]),
        yaxis=axis(name_of(name)),
        height=380,
    )


def _line(result: "LearningCurve", split: str, name: str) -> Trace:
    points = [point for point in result.points if name in point.figures(split)]
    return {
        "name": split,
        "x": [point.examples for point in points],
        "y": [point.figures(split)[name] for point in points],
        "mode": "lines+markers",
        "line": {"color": _COLORS[split], "width": 2.5, "dash": "dot" if split == "test" else "solid"},
        "marker": {"size": 8},
        "hovertemplate": "%{x:,} examples: %{y:.4~g}",
    }


def _table(result: "LearningCurve", shown: list[str]) -> Html:
    columns = [(split, name) for name in shown for split in _COLORS if result.points[-1].figures(split)]
    rows = [
        (p, [f"{p.examples:,}", *(p.figures(s).get(n) for s, n in columns), duration(p.seconds)]) for p in result.points
    ]
    return trainings("The trainings", ["examples", *(f"{s} {name_of(n)}" for s, n in columns), "time"], rows)
