"""How a regression does on the test split: predicted against actual, the residuals, and the fitted curve."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, quiet, section
from gradlab.report import charts as draw
from gradlab.report.charts import ACCENT, INK, PALETTE, TRAIN, Trace, axis, chart, charts, dots, thinned
from gradlab.wording import counted, number

if TYPE_CHECKING:
    from gradlab.data import Dataset
    from gradlab.run import Run

Array = npt.NDArray[Any]

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

    dataset, inputs = run.dataset, run.data["inputs"]
    if len(dataset.test) == 0:
        return Html()
    some = dataset.test.sample(_MOST)
    values = np.array([decoded["value"] for decoded in run.task.decode(predict(run.model, some.inputs))])
    actual, predicted = (_common_unit(run, v) for v in (dataset.raw.targets[some.rows], values))
    figures = [_against(actual, predicted), residuals(actual, predicted)]
    if inputs.get("shape") == [1] and not inputs["categories"] and actual.shape[1] == 1:
        figures.insert(0, _fitted(run, dataset))
    words = f"{counted(len(dataset.test), 'example')} that the training never saw"
    words += f"; the pictures show {len(some):,} of them." if len(some) < len(dataset.test) else "."
    return section("Test split", quiet(words), charts(*figures))


def _common_unit(run: "Run", values: Array) -> Array:
    """One column a target: raw where there is one target, in training standard deviations where there are several."""
    columns = values.reshape(len(values), -1).astype(np.float64)
    if columns.shape[1] == 1:
        return columns
    targets = run.data["targets"]
    standardised: Array = (columns - targets["mean"]) / targets["std"]
    return standardised


def _against(actual: Array, predicted: Array) -> Html:
    rows, targets = thinned(range(len(actual))), actual.shape[1]
    hover, style = "actual %{x:.4~g}, predicted %{y:.4~g}<extra></extra>", {"size": 7, "opacity": 0.65}
    clouds = [
        dots(f"target {i}", actual[rows, i], predicted[rows, i], PALETTE[i % len(PALETTE)], hover, **style)
        for i in range(targets)
    ]
    return chart(
        "Predicted against actual",
        [draw.diagonal(min(actual.min(), predicted.min()), max(actual.max(), predicted.max())), *clouds],
        "On the dotted line a prediction is exact.",
        height=380,
        xaxis=axis("actual"),
        yaxis=axis("predicted"),
        showlegend=targets > 1,
    )


def _residuals(actual: Array, predicted: Array) -> Html:
    errors = predicted - actual
    words = f"Predicted minus actual. Mean {number(errors.mean())}, standard deviation {number(errors.std())}."
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


def _histogram(errors: Array, words: str, x: str) -> Html:
    layout: dict[str, Any] = {"height": 380, "xaxis": axis(x), "yaxis": axis("examples")}
    return draw.histogram("Residuals", errors.ravel(), words, 24, **layout, shapes=[draw.level(0, across="y")])


def _fitted(run: "Run", dataset: "Dataset") -> Html:
    """One input: the data and the curve that the model has drawn through them."""
    inputs = dataset.raw.inputs[:, 0]
    x = np.linspace(inputs.min(), inputs.max(), 300)
    curve = draw.line("model", x, run.predict(x[:, None]), INK, "%{x:.3~g}: %{y:.4~g}", width=2.5)
    return chart(
        "Data and fitted curve",
        [_dots(dataset, "train", TRAIN, 0.35), _dots(dataset, "test", ACCENT, 0.9), curve],
        height=420,
        xaxis=axis((run.data["inputs"]["features"] or ["x"])[0]),
        yaxis=axis("target"),
    )


def _dots(dataset: "Dataset", split: str, color: str, opacity: float) -> Trace:
    rows = dataset.split(split).sample(_DOTS).rows
    x, y = dataset.raw.inputs[rows, 0], dataset.raw.targets[rows].ravel()
    return dots(split, x, y, color, "%{x:.3~g}: %{y:.4~g}", opacity=opacity)
