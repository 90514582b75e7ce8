"""The test examples a classifier is most confidently wrong about."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.errors import GradlabError
from gradlab.markup import Html, table, tag
from gradlab.printable import printable
from gradlab.report.pictures import is_picture, picture, to_pixels
from gradlab.report.predictions import Predictions
from gradlab.wording import date, quantity

if TYPE_CHECKING:
    from gradlab.run import Run

Rows = npt.NDArray[np.int64]

_PICTURES, _ROWS = 24, 12
_DIGITS = 9  # of a number: amounts have their cents
_LETTERS = 60  # of a category
_CHARACTERS = 400  # of a text


def mistakes(run: "Run", predictions: Predictions) -> Html:
    """Pictures where the inputs are images, texts where they are that, otherwise a table; the most confident first."""
    worst = predictions.mistakes()
    if len(worst) == 0:
        return Html()
    shape = run.data["inputs"].get("shape")
    draw = (
        _graphs
        if run.data["inputs"].get("kind") == "graphs"
        else _texts
        if shape is None
        else _pictures
        if is_picture(shape)
        else _table
    )
    title = tag("h3", "The most confident mistakes")
    return tag("div", tag("figure", title, draw(run, predictions, worst)), class_="charts")


def _pictures(run: "Run", predictions: Predictions, worst: Rows) -> Html:
    shown = worst[:_PICTURES]
    drawn = []
    for i, pixels in zip(shown, to_pixels(predictions.raw(run, shown)), strict=True):
        actual, predicted, probability = _row(predictions, i)
        text = f"{actual}, taken for {predictions.classes[predictions.predicted[i]]}"
        below = tag("div", f"probability {probability}", class_="quiet")
        drawn.append(picture(pixels, text, f"{actual}, taken for ", predicted, below))
    return tag("div", *drawn, class_="pictures")


def _graphs(run: "Run", predictions: Predictions, worst: Rows) -> Html:
    """Nodes, edges or graphs by what the user calls them."""
    from gradlab.data.graphs.preparation import names_of

    shown, raw = worst[:_ROWS], run.dataset.raw
    names = names_of(raw, predictions.rows[shown].tolist())
    rows = [[name, *_row(predictions, i)] for i, name in zip(shown, names, strict=True)]
    return table([raw.level, "actual", "predicted", "probability"], rows, class_="numbers")


def _table(run: "Run", predictions: Predictions, worst: Rows) -> Html:
    """The features are there where the inputs have names for them."""
    features: list[str] = run.data["inputs"]["features"]
    columns = {column["name"]: column for column in (run.data.get("reader") or {}).get("columns", [])}
    shown = worst[:_ROWS]
    heading, places = _places(run, predictions.rows[shown])
    rows = []
    for i, place, values in zip(shown, places, predictions.raw(run, shown).tolist(), strict=True):
        cells = [_cell(value, columns.get(feature, {})) for feature, value in zip(features, values, strict=False)]
        rows.append([place, *_row(predictions, i), *cells])
    return table([heading, "actual", "predicted", "probability", *features], rows, class_="numbers")


def _places(run: "Run", rows: Rows) -> tuple[str, list[str]]:
    """Where examples stand: lines of one's own CSV files, else rows of the data, which count from 0.

    Rows of a file without a target are no examples.
    """
    values, reader = run.source.values, run.data.get("reader")
    if run.recipe.data.name != "csv" or reader is None:
        return "row", [str(row) for row in rows.tolist()]
    from gradlab.data.dataset import FILES
    from gradlab.data.tables.columns import MISSING
    from gradlab.data.tables.records import Records

    files = [values[name] for name in FILES if values.get(name)]
    last, lines = rows.max(), list[str]()
    for file in map(Path, files):
        records = Records(file, reader["separator"], reader["encoding"])
        target = records.names.index(values["target"])
        place = "" if len(files) == 1 else f"{file.name}:"
        for block in records:
            (texts,) = block.texts([target])
            there = zip(block.lines, texts, strict=True)
            lines += [f"{place}{line}" for line, text in there if text not in MISSING]
            if len(lines) > last:
                return "line", [lines[row] for row in rows]
    raise GradlabError(f"{files[-1]} has fewer rows than it had in training.")


def _texts(run: "Run", predictions: Predictions, worst: Rows) -> Html:
    shown = worst[:_ROWS]
    rows = []
    for i, document in zip(shown, predictions.raw(run, shown), strict=True):
        text = document.read()
        short = text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
        rows.append([*_row(predictions, i), tag("div", short, style="white-space: pre-wrap; text-align: left")])
    return table(["actual", "predicted", "probability", "text"], rows, class_="numbers")


def _row(predictions: Predictions, i: int) -> list[str]:
    actual, predicted = (predictions.classes[which[i]] for which in (predictions.actual, predictions.predicted))
    return [actual, tag("span", predicted, class_="said"), f"{predictions.confidence[i]:.3f}"]


def _cell(value: float, column: Mapping[str, Any]) -> str:
    """A value as it stood in the table: a category by its name, a date as one, a dash for what was missing."""
    if column.get("kind") == "category":
        return printable(column["values"][int(value)], _LETTERS) if value >= 0 else "–"
    if math.isnan(value):
        return "–"
    return date(value) if column.get("kind") == "date" else quantity(value, _DIGITS)
