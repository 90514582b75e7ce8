"""How a classifier does on the test split: confusion matrix, each class, regions, confidence, mistakes, its sight."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, join, quiet, section, table, tag
from gradlab.report.charts import CARD, HEAT, TINT, axis, chart, charts, heatmap, label, meter
from gradlab.report.confidence import confidence_figures
from gradlab.report.graphs import graph_figure
from gradlab.report.mistakes import mistakes
from gradlab.report.predictions import Predictions
from gradlab.report.ranking import ranking_section
from gradlab.report.regions import has_regions, regions
from gradlab.report.sight import sight_sections
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.run import Run

Counts = npt.NDArray[np.int64]

_LEGIBLE = 20  # classes, up to which a count fits into a cell of the confusion matrix
_SHORT = 24  # letters of a class name beside it


def test_section(run: "Run") -> Html:
    """Everything about the test split of a classification."""
    if len(run.dataset.test) == 0:
        return Html()
    predictions = Predictions.of(run)
    confusion = predictions.confusion()
    figures = [regions(run, predictions)] if has_regions(run) else []
    figures += [graph_figure(run, predictions)] if run.data["inputs"].get("kind") == "graphs" else []
    figures += [_matrix(predictions.classes, confusion), _by_class(predictions.classes, confusion)]
    figures += confidence_figures(run, predictions)
    wrong = len(predictions) - int(confusion.trace())
    outcome = f"{wrong:,} wrong" if wrong else "none wrong"
    words = f"{counted(len(predictions), 'example')} that the training never saw; {outcome}."
    tested = section("Test split", quiet(words), charts(*figures), mistakes(run, predictions))
    return join([tested, sight_sections(run, predictions), ranking_section(run, predictions)])


def _matrix(classes: list[str], counts: Counts) -> Html:
    """Rows are actual classes, coloured by the share of the row."""
    names = [label(name) for name in classes]
    short = [label(name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}…") for name in classes]
    ticks = {"tickvals": list(range(len(names))), "ticktext": short, "showgrid": False}
    heat = heatmap(
        counts / np.maximum(counts.sum(1, keepdims=True), 1),
        [(0, CARD), (0.002, TINT), (1, HEAT)],  # a step at zero: one mistake in hundreds is seen
        "%{customdata} (%{z:.1%})<extra></extra>",
        text=[[f"{count:,}" if count else "" for count in row] for row in counts.tolist()],
        customdata=[[f"{a} as {b}: {counts[i, j]:,}" for j, b in enumerate(names)] for i, a in enumerate(names)],
        texttemplate="%{text}" if len(names) <= _LEGIBLE else "",
        zmin=0,
        zmax=1,
        xgap=2,
        ygap=2,
    )
    return chart(
        "Confusion matrix",
        [heat],
        "Counts; colours are shares of the actual class.",
        height=min(620, 220 + 26 * len(names)),
        xaxis=axis("predicted", **ticks),
        yaxis=axis("actual", autorange="reversed", **ticks),
    )


def _by_class(classes: list[str], counts: Counts) -> Html:
    """Precision, recall and F1 of each class."""
    hits, actual, predicted = counts.diagonal(), counts.sum(1), counts.sum(0)
    shares = [[hits, predicted], [hits, actual], [2 * hits, actual + predicted]]
    rows = [
        [name, f"{actual[i]:,}", *(_share(part[i], whole[i]) for part, whole in shares)]
        for i, name in enumerate(classes)
    ]
    body = table(["class", "examples", "precision", "recall", "F1"], rows, class_="numbers")
    words = "Precision: how often a prediction of the class is right. Recall: how much of the class is found."
    return tag("figure", tag("h3", "Each class"), body, tag("figcaption", words))


def _share(part: int, whole: int) -> str:
    return meter(part / whole, f"{part / whole:.3f}") if whole else "–"
