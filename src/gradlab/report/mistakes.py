"""The test examples a classifier is most confidently wrong about."""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradlab.report.judged import Judged
from gradlab.report.markup import Html, table, tag
from gradlab.report.pictures import is_picture, picture, to_pixels

if TYPE_CHECKING:
    from gradlab.run import Run

_PICTURES, _ROWS = 18, 12
_CHARACTERS = 400  # of a text


def mistakes(run: "Run", judged: Judged) -> Html:
    """Pictures where the inputs are images, texts where they are that, otherwise a table; the most confident first."""
    wrong = np.flatnonzero(judged.said != judged.actual)
    worst = wrong[np.argsort(-judged.confidence[wrong], kind="stable")]
    if len(worst) == 0:
        return Html()
    shape = run.data["inputs"].get("shape")
    show = _texts if shape is None else _pictures if is_picture(shape) else _table
    title = tag("h3", "The most confident mistakes")
    return tag("div", tag("figure", title, show(run, judged, worst)), class_="charts")


def _pictures(run: "Run", judged: Judged, worst: npt.NDArray[np.int64]) -> Html:
    shown = worst[:_PICTURES]
    images = zip(shown, to_pixels(judged.raw(run, shown)), strict=True)
    return tag("div", *(_picture(judged, i, pixels) for i, pixels in images), class_="pictures")


def _picture(judged: Judged, i: int, pixels: npt.NDArray[np.uint8]) -> Html:
    actual, said = judged.classes[judged.actual[i]], judged.classes[judged.said[i]]
    return picture(
        pixels,
        f"{actual}, taken for {said}",
        f"{actual}, taken for ",
        tag("span", said, class_="said"),
        tag("div", f"probability {judged.confidence[i]:.3f}", class_="quiet"),
    )


def _table(run: "Run", judged: Judged, worst: npt.NDArray[np.int64]) -> Html:
    """The features are there where the inputs have names for them."""
    features: list[str] = run.data["inputs"]["features"]
    columns = (run.data.get("reader") or {}).get("columns", [])
    names = {column["name"]: column["values"] for column in columns if column["kind"] == "category"}
    shown = worst[:_ROWS]
    rows = [
        [
            *_said(judged, i),
            *(_as_read(value, names.get(feature)) for feature, value in zip(features, values.tolist(), strict=False)),
        ]
        for i, values in zip(shown, judged.raw(run, shown), strict=True)
    ]
    return table(["actual", "predicted", "probability", *features], rows, class_="numbers")


def _texts(run: "Run", judged: Judged, worst: npt.NDArray[np.int64]) -> Html:
    shown = worst[:_ROWS]
    rows = [
        [*_said(judged, i), tag("div", _shortened(document.read()), style="white-space: pre-wrap; text-align: left")]
        for i, document in zip(shown, judged.raw(run, shown), strict=True)
    ]
    return table(["actual", "predicted", "probability", "text"], rows, class_="numbers")


def _shortened(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def _said(judged: Judged, i: int) -> list[str]:
    actual, said = judged.classes[judged.actual[i]], judged.classes[judged.said[i]]
    return [actual, tag("span", said, class_="said"), f"{judged.confidence[i]:.3f}"]


def _as_read(value: float, categories: list[str] | None) -> str:
    """A value as it stood in the table: a category by its name, a dash for what was missing."""
    if categories is not None:
        return categories[int(value)] if value >= 0 else "–"
    return "–" if math.isnan(value) else f"{value:.4g}"
