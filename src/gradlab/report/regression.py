"""How a regression does on the test split: predicted against actual, the residuals, and the fitted curve."""

from collections.abc import Callable
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
_DOTS = 2000  # more are no longer seen apart
_MOST = 20_000  # examples of a picture: there may be more than memory holds


def test_section(run: "Run") -> Html:
    """Everything about the test split of a regression."""
    return _section(run, _residuals)


def counts_section(run: "Run") -> Html:
    """The same of a regression of counts, whose errors grow with what is predicted."""
    return _section(run, _pearson_residuals)


def _section(run: "Run", residuals: Callable[[Array, Array], Html]) -> Html:
    from gradlab.tasks import predict

    dataset = run.dataset
    if len(dataset.test) == 0:
        return Html()
    some = dataset.test.sample(_MOST)
    values = np.array([said["value"] for said in run.task.decode(predict(run.model, some.inputs))])
    actual, predicted = (_common_unit(run, v) for v in (dataset.raw.targets[some.rows], values))
    figures = [_against(actual, predicted), residuals(actual, predicted)]
    if run.data["inputs"]["shape"] == [1] and not run.data["inputs"]["categories"] and actual.shape[1] == 1:
        figures.insert(0, _fitted(run, dataset))
    verdict = f"{counted(len(dataset.test), 'example')} that the training never saw"
    verdict += f"; the pictures show {len(some):,} of them." if len(some) < len(dataset.test) else "."
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


def _residuals(actual: Array, predicted: Array) -> Html:
    errors = predicted - actual
    words = f"Predicted minus actual. Mean {errors.mean():.3g}, standard deviation {errors.std():.3g}."
    return _histogram(errors, words, "predicted − actual")


def _pearson_residuals(actual: Array, predicted: Array) -> Html:
    """Errors in the standard deviations that a Poisson law gives them."""
    errors = (predicted - actual) / np.sqrt(np.maximum(predicted, 1e-12))
    words = (
        "Predicted minus actual, in units of √predicted, by which Poisson counts scatter. "
        f"Mean {errors.mean():.3g}, standard deviation {errors.std():.3g}: about 1 where that law holds, more where "
        "the counts scatter more or the model misses something."
    )
    return _histogram(errors, words, "(predicted − actual) / √predicted")


def _histogram(residuals: Array, words: str, label: str) -> Html:
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
        words,
        height=380,
        xaxis=axis(label),
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
    rows = dataset.split(split).sample(_DOTS).rows
    return {
        "name": name,
        "x": dataset.raw.inputs[rows, 0].tolist(),
        "y": dataset.raw.targets[rows].ravel().tolist(),
        "mode": "markers",
        "marker": {"color": color, "size": 6, "opacity": opacity},
        "hovertemplate": "%{x:.3~g}: %{y:.4~g}",
    }
