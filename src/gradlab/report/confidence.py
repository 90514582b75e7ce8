"""Whether a classifier is as sure as it is right, as it was trained and at the temperature that was fitted after."""

from typing import TYPE_CHECKING

import numpy as np

from gradlab.markup import Html
from gradlab.report.charts import ACCENT, PALETTE, TRAIN, Trace, axis, bars, chart, diagonal, dots
from gradlab.report.predictions import Predictions

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks import Reliability

_POINT = 24  # pixels across of a bin with all examples
_PROBABILITY = axis("probability of the predicted class", range=[-0.02, 1.04], dtick=0.2)


def confidence_figures(run: "Run", predictions: Predictions) -> list[Html]:
    """The reliability diagram, and how many examples lie behind each part of it."""
    from gradlab.tasks import Reliability

    right = predictions.predicted == predictions.actual
    before = Reliability.of(predictions.confidence, right)
    points = [_points("as trained", before, TRAIN)]
    words = f"ECE {before.ece:.3f}"
    if predictions.calibrated is not None:
        after = Reliability.of(predictions.calibrated, right)
        points.append(_points("calibrated", after, ACCENT))
        fitted = f"at temperature {run.temperature:.3g}, which was fitted on the validation split"
        words += f" as trained, {after.ece:.3f} {fitted}"
    elif refused := run.finished.get("calibration", {}).get("refused"):
        words += f" at temperature 1: {refused}"
    return [_diagram(points, words), _histogram(before)]


def _diagram(points: list[Trace], words: str) -> Html:
    return chart(
        "Reliability",
        [diagonal(0, 1), *points],
        "How often predictions of about the same probability are right; on the dotted line as often as they say, "
        f"below it the model is too sure. Larger dots stand for more examples. {words}.",
        height=400,
        xaxis=_PROBABILITY,
        yaxis=axis("share that is right", range=[-0.04, 1.08], dtick=0.2),
    )


def _points(name: str, reliability: "Reliability", color: str) -> Trace:
    filled = reliability.count > 0
    count = reliability.count[filled]
    x, y = reliability.confident[filled] / count, reliability.right[filled] / count
    hover = "%{customdata} examples: probability %{x:.3f}, right %{y:.3f}"
    size = 7 + _POINT * np.sqrt(count / count.sum())  # the area says how many; the least still has to be seen
    return dots(name, x, y, color, hover, custom=count.astype(np.int64), opacity=0.7, size=size)


def _histogram(reliability: "Reliability") -> Html:
    bins = len(reliability.count)
    middles = (np.arange(bins) + 0.5) / bins
    decades = range(len(str(int(reliability.count.max()))))
    parts = {"right": reliability.right, "wrong": reliability.count - reliability.right}
    return chart(
        "Confidence",
        [
            bars(middles, counts.astype(np.int64), "around %{x:.2f}: %{y}", color, name=name)
            for (name, counts), color in zip(parts.items(), PALETTE, strict=False)
        ],
        "How many examples are predicted with which probability, as trained. The scale is logarithmic, so that single "
        "mistakes are seen.",
        height=400,
        bargap=0.15,
        xaxis=_PROBABILITY,
        # From a third of an example, so that one example is a bar.
        yaxis=axis("examples", type="log", range=[-0.5, len(decades)], tickvals=[10**d for d in decades]),
    )
