"""How a regression does on the test split: predicted against actual, the residuals, and the fitted curve."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.report.charts import ACCENT, INK, PALETTE, SOFT, TRAIN, Trace, axis, chart, charts, thinned
from gradlab.report.markup import Html, section, tag
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.data import Dataset
    from gradlab.run import Run

Array = npt.NDArray[Any]

_BINS = 24


def test_section(run: "Run") -> Html:
    """Everything about the test split of a regression."""
    dataset = run.dataset
    rows = dataset.test.rows
    if len(rows) == 0:
        return Html()
    actual, predicted = (
        _common_unit(run, v) for v in (dataset.raw.targets[rows], run.predict(dataset.raw.inputs[rows]))
    )
    figures = [_against(actual, predicted), _residuals(predicted - actual)]
    if run.data["inputs"]["shape"] == [1] and not run.data["inputs"]["categories"] and actual.shape[1] == 1:
        figures.insert(0, _fitted(run, dataset))
    verdict = f"{counted(len(rows), 'example')} that the training never saw."
    return section("Test split", tag("p", verdict, class_="quiet"), charts(*figures))


def _common_unit(run: "Run", values: Array) -> Array:
    """One column a target: raw where there is one target, in training standard deviations where there are several."""
    columns = values.reshape(len(values), -1).astype(np.float64)
    if columns.shape[1] == 1:
        return columns
    targets = run.data["targets"]
    standardised: Array = (columns - targets["mean"]) / targets["std"]
    return standardised


def _against(actual: Array, predicted: Array) -> Html:
    ends = [min(actual.min(), predicted.min()), max(actual.max(), predicted.max())]
    diagonal = {"x": ends, "y": ends, "mode": "lines", "line": {"color": SOFT, "dash": "dot"}, "hoverinfo": "skip"}
    return chart(
        "Predicted against actual",
        [{**diagonal, "showlegend": False}, *(_cloud(actual, predicted, i) for i in range(actual.shape[1]))],
        "On the dotted line a prediction is exact.",
        height=380,
        xaxis=axis("actual"),
        yaxis=axis("predicted"),
        showlegend=actual.shape[1] > 1,
    )


def _cloud(actual: Array, predicted: Array, target: int) -> Trace:
    rows = thinned(range(len(actual)))
    return {
        "name": f"target {target}",
        "x": actual[rows, target].tolist(),
        "y": predicted[rows, target].tolist(),
        "mode": "markers",
        "marker": {"color": PALETTE[target % len(PALETTE)], "size": 7, "opacity": 0.65},
        "hovertemplate": "actual %{x:.4~g}, predicted %{y:.4~g}<extra></extra>",
    }


def _residuals(residuals: Array) -> Html:
    counts, edges = np.histogram(residuals, bins=_BINS)
    bars = {
        "type": "bar",
        "x": ((edges[1:] + edges[:-1]) / 2).tolist(),
        "y": counts.tolist(),
        "width": (0.94 * np.diff(edges)).tolist(),
        "marker": {"color": ACCENT, "opacity": 0.8},
        "hovertemplate": "around %{x:.3~g}: %{y}<extra></extra>",
    }
    line = {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": SOFT, "dash": "dot"}}
    return chart(
        "Residuals",
        [bars],
        f"Predicted minus actual. Mean {residuals.mean():.3g}, standard deviation {residuals.std():.3g}.",
        height=380,
        xaxis=axis("predicted − actual"),
        yaxis=axis("examples"),
        shapes=[line],
        showlegend=False,
    )


def _fitted(run: "Run", dataset: "Dataset") -> Html:
    """One input: the data and the curve that the model has drawn through them."""
    inputs = dataset.raw.inputs[:, 0]
    x = np.linspace(inputs.min(), inputs.max(), 300)
    curve = {"name": "model", "x": x.tolist(), "y": run.predict(x[:, None]).tolist(), "mode": "lines"}
    return chart(
        "Data and fitted curve",
        [
            _dots("train", dataset, "train", TRAIN, 0.35),
            _dots("test", dataset, "test", ACCENT, 0.9),
            {**curve, "line": {"color": INK, "width": 2.5}, "hovertemplate": "%{x:.3~g}: %{y:.4~g}"},
        ],
        height=420,
        xaxis=axis((run.data["inputs"]["features"] or ["x"])[0]),
        yaxis=axis("target"),
    )


def _dots(name: str, dataset: "Dataset", split: str, color: str, opacity: float) -> Trace:
    rows = thinned(dataset.split(split).rows.tolist())
    return {
        "name": name,
        "x": dataset.raw.inputs[rows, 0].tolist(),
        "y": dataset.raw.targets[rows].ravel().tolist(),
        "mode": "markers",
        "marker": {"color": color, "size": 6, "opacity": opacity},
        "hovertemplate": "%{x:.3~g}: %{y:.4~g}",
    }
