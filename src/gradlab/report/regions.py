"""Inputs with two features: which class the model gives to each point of the plane."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html
from gradlab.report.charts import PALETTE, Trace, axis, chart, dots, thinned
from gradlab.report.pictures import address
from gradlab.report.predictions import Predictions, classify

if TYPE_CHECKING:
    from gradlab.run import Run

_SIDE = 200  # points of the plane in each direction
_MOST = 20_000  # examples that are looked at: there may be more than memory holds


def has_regions(run: "Run") -> bool:
    inputs = run.data["inputs"]
    return inputs.get("shape") == [2] and not inputs["categories"]


def regions(run: "Run", predictions: Predictions) -> Html:
    """The plane coloured by class, the stronger the more certain, with the test points over it."""
    shown = np.array(thinned(range(len(predictions)), _MOST))
    inputs = predictions.raw(run, shown)
    low, high = np.nanmin(inputs, 0), np.nanmax(inputs, 0)
    margin = 0.08 * np.maximum(high - low, 1e-9)
    low, high = low - margin, high + margin
    first, second = run.data["inputs"]["features"] or ("x0", "x1")
    return chart(
        "Decision regions",
        [_points(predictions, index, shown, inputs) for index in range(len(predictions.classes))],
        "Each point of the plane has the colour of its most probable class, the stronger the more certain. "
        "Dots are test examples; crosses are those classified wrongly.",
        height=480,
        xaxis=axis(first, range=[low[0], high[0]], showgrid=False),
        yaxis=axis(second, range=[low[1], high[1]], showgrid=False),
        images=[_plane(run, low, high)],
    )


def _plane(run: "Run", low: npt.NDArray[Any], high: npt.NDArray[Any]) -> dict[str, Any]:
    # From the top downwards, as the rows of a picture are.
    y, x = np.meshgrid(np.linspace(high[1], low[1], _SIDE), np.linspace(low[0], high[0], _SIDE), indexing="ij")
    predicted, confidence = classify(run, np.stack([x.ravel(), y.ravel()], axis=1))
    colors = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in PALETTE])[predicted % len(PALETTE)]
    # From no colour at the probability of a guess to half of it at certainty.
    guess = 1 / len(run.data["targets"]["classes"])
    strength = 140 * (confidence - guess) / (1 - guess)
    pixels = np.column_stack([colors, strength]).astype(np.uint8).reshape(_SIDE, _SIDE, 4)
    size = {"sizex": high[0] - low[0], "sizey": high[1] - low[1], "sizing": "stretch", "layer": "below"}
    return {"source": address(pixels), "xref": "x", "yref": "y", "x": low[0], "y": high[1], **size}


def _points(predictions: Predictions, index: int, shown: npt.NDArray[np.int64], inputs: npt.NDArray[Any]) -> Trace:
    members = thinned(np.flatnonzero(predictions.actual[shown] == index).tolist())
    right = predictions.predicted[shown[members]] == index
    style = {"symbol": ["circle" if r else "x" for r in right], "size": [8 if r else 10 for r in right]}
    border = {"color": "#ffffff", "width": 1}
    x, y = inputs[members].T
    color = PALETTE[index % len(PALETTE)]
    return dots(predictions.classes[index], x, y, color, "%{x:.3~g}, %{y:.3~g}", **style, opacity=1, line=border)
