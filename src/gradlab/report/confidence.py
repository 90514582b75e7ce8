"""Whether a classifier is as sure as it is right, as it was trained and at the temperature that was fitted after."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.report.charts import ACCENT, PALETTE, SOFT, TRAIN, Trace, axis, chart
from gradlab.report.judged import Judged
from gradlab.report.markup import Html

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks import Reliability

_POINT = 24  # pixels across of a bin with all examples
_PROBABILITY = axis("probability of the predicted class", range=[-0.02, 1.04], dtick=0.2)


def confidence_figures(run: "Run", judged: Judged) -> list[Html]:
    """The reliability diagram, and how many examples lie behind each part of it."""
    from gradlab.tasks import Reliability

    right = judged.said == judged.actual
    before = Reliability.of(judged.confidence, right)
    points = [_points("as trained", before, TRAIN)]
    words = f"ECE {before.ece:.3f}"
    if judged.calibrated is not None:
        after = Reliability.of(judged.calibrated, right)
        points.append(_points("calibrated", after, ACCENT))
        words += (
            f" as trained, {after.ece:.3f} at temperature {run.temperature:.3g}, which was fitted on the validation "
            "split"
        )
    return [_diagram(points, words), _histogram(before)]


def _diagram(points: list[Trace], words: str) -> Html:
    diagonal = {"x": [0, 1], "y": [0, 1], "mode": "lines", "line": {"color": SOFT, "dash": "dot"}, "hoverinfo": "skip"}
    return chart(
        "Reliability",
        [{**diagonal, "showlegend": False}, *points],
        "How often predictions of about the same probability are right; on the dotted line as often as they say, "
        f"below it the model is too sure. Larger dots stand for more examples. {words}.",
        height=400,
        xaxis=_PROBABILITY,
        yaxis=axis("share that is right", range=[-0.04, 1.08], dtick=0.2),
    )


def _points(name: str, reliability: "Reliability", color: str) -> Trace:
    filled = reliability.count > 0
    count = reliability.count[filled]
    return {
        "name": name,
        "x": (reliability.confident[filled] / count).tolist(),
        "y": (reliability.right[filled] / count).tolist(),
        "customdata": count.astype(np.int64).tolist(),
        "mode": "markers",
        # The area says how many; the least still has to be seen.
        "marker": {"color": color, "opacity": 0.7, "size": (7 + _POINT * np.sqrt(count / count.sum())).tolist()},
        "hovertemplate": "%{customdata} examples: probability %{x:.3f}, right %{y:.3f}",
    }


def _histogram(reliability: "Reliability") -> Html:
    bins = len(reliability.count)
    middles = (np.arange(bins) + 0.5) / bins
    decades = range(len(str(int(reliability.count.max()))))
    return chart(
        "Confidence",
        [
            _bars("right", middles, reliability.right, PALETTE[0]),
            _bars("wrong", middles, reliability.count - reliability.right, PALETTE[1]),
        ],
        "How many examples are predicted with which probability, as trained. The scale is logarithmic, so that single "
        "mistakes are seen.",
        height=400,
        bargap=0.15,
        xaxis=_PROBABILITY,
        # From a third of an example, so that one example is a bar.
        yaxis=axis("examples", type="log", range=[-0.5, len(decades)], tickvals=[10**d for d in decades]),
    )


def _bars(name: str, x: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], color: str) -> Trace:
    return {
        "type": "bar",
        "name": name,
        "x": x.tolist(),
        "y": counts.astype(np.int64).tolist(),
        "marker": {"color": color},
        "hovertemplate": "around %{x:.2f}: %{y}",
    }
