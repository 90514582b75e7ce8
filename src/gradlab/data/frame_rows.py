"""Rows of a frame as raw inputs of a trained model, by the names of its columns."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.frames import has_names, open_frame, temporary_file, texts
from gradlab.data.reading import ArrayReader, Reader, Reading
from gradlab.data.tables.columns import ISO, Column
from gradlab.data.tables.reader import TableReader
from gradlab.errors import GradlabError, notice
from gradlab.printable import listed, printable

if TYPE_CHECKING:
    from narwhals.stable.v2 import DataFrame, Series

_TEXTS = ("String", "Categorical", "Enum")


def read_frame(reader: Reader, frame: Any, beside: Sequence[str] = (), features: Sequence[str] = ()) -> Reading:
    """What a reader makes of a frame; columns that it does not need are passed over.

    `features` are the names of inputs that are numbers without a table of their own.
    """
    if isinstance(reader, TableReader):
        return _table_rows(reader, open_frame(frame), beside)
    if isinstance(reader, ArrayReader) and not has_names(frame):
        return Reading(np.asarray(frame))
    if isinstance(reader, ArrayReader):
        return Reading(_number_rows(reader, open_frame(frame), features))
    with temporary_file(frame) as path:
        return reader.read(str(path), beside)


def _table_rows(reader: TableReader, frame: "DataFrame[Any]", beside: Sequence[str]) -> Reading:
    names = {name.strip(): name for name in frame.columns}
    _check_names([*(column.name for column in reader.inputs), *beside], list(names))
    series = {column.name: (column, frame[names[column.name]]) for column in reader.inputs}
    numbers = {name: _encode(*pair) for name, pair in series.items() if pair[0].kind != "category"}
    categories = {name: _category_texts(*pair) for name, pair in series.items() if name not in numbers}
    values = reader.encode(categories, _row_place, numbers)
    kept = {name: _target_texts(reader, name, frame[names[name]]) for name in beside}
    return Reading(values, None, kept, [_row_place(row) for row in range(len(frame))])


def _row_place(row: int) -> str:
    return f"row {row} of the frame"


def _check_names(needed: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        close = difflib.get_close_matches(missing[0], names, n=1)
        hint = f" Is {missing[0]!r} what it has as {printable(repr(close[0]), 60)}?" if close else ""
        raise GradlabError(
            f"The frame has no column {listed(map(repr, missing), 30)}, which training had. It has "
            f"{listed(names, 30)}.{hint}"
        )


def _encode(column: Column, series: "Series[Any]") -> npt.NDArray[np.float64]:
    """Numbers and dates by their type, which has no form; texts in the form that the column had in training."""
    if str(series.dtype) == "Boolean" and column.kind == "number":
        return np.array([{"True": 1.0, "False": 0.0}.get(text, np.nan) for text in texts(series)])
    if not str(series.dtype).startswith(_TEXTS):
        column = replace(column, decimal=".", thousands="", unit="", format=ISO)
    return column.encode([text.strip() for text in texts(series)], _row_place)


def _category_texts(column: Column, series: "Series[Any]") -> list[str]:
    """The texts of categories; truth values as they were written in training, such as true or TRUE."""
    cells = [text.strip() for text in texts(series)]
    if str(series.dtype).startswith(_TEXTS):
        return cells
    known = {value.casefold(): value for value in column.values}
    return [known.get(cell.casefold(), cell) for cell in cells]


def _target_texts(reader: TableReader, name: str, series: "Series[Any]") -> list[str]:
    column = next((column for column in reader.columns if column.name == name), None)
    if column is None or str(series.dtype).startswith(_TEXTS):
        return texts(series)
    if column.kind == "category":
        return _category_texts(column, series)
    return [cell.replace(".", column.decimal) for cell in texts(series)]


def _number_rows(reader: ArrayReader, frame: "DataFrame[Any]", features: Sequence[str]) -> npt.NDArray[Any]:
    """By the names of the inputs where the frame has them, else in its order, if it has as many columns."""
    names = list(frame.columns)
    size = int(np.prod(reader.shape))
    if set(features) & set(names) or len(names) != size:
        _check_names(features or [f"x{i}" for i in range(size)], names)
        names = list(features)
    elif features:
        notice(f"The frame has none of the columns {listed(features, 5)}: its columns are taken in their order.")
    columns = [_encode(Column(name=name, kind="number"), frame[name]) for name in names]
    return np.stack(columns, axis=1).reshape(len(frame), *reader.shape)
