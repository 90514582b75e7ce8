"""Tables with named columns of several types, such as those of pandas, as numbers.

pandas itself is not imported: a frame that is handed in brings its own methods.
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.frames import cell_text, check_unique
from gradlab.data.raw import check_finite
from gradlab.data.tables.columns import MISSING_CODE, Column, Kind
from gradlab.errors import GradlabError

Table = npt.NDArray[np.floating[Any]]

_NUMBERS = (Real, Decimal)
_DAY = 86_400e6  # microseconds
_WORDS: dict[Kind, str] = {"number": "numbers", "category": "categories", "date": "dates"}


def is_pandas_frame(X: object) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(frame: Any) -> list[Column]:
    """What each column of a frame is, and which categories it has."""
    labels = list(frame.columns)
    check_unique(labels)
    names = labels if all(isinstance(label, str) for label in labels) else [f"x{i}" for i in range(len(labels))]
    return [_column(name, frame.iloc[:, i]) for i, name in enumerate(names)]


def as_numbers(frame: Any, columns: Sequence[Column]) -> Table:
    """Numbers as they are, dates as days since 1970, categories as the codes of `columns`; NaN where missing."""
    single = all(kind == np.float32 for kind in frame.dtypes)
    table = np.empty(frame.shape, np.float32 if single else np.float64)
    for i, column in enumerate(columns):
        series = frame.iloc[:, i]
        try:
            table[:, i] = _READ[column.kind](series, column)
        except (TypeError, ValueError, OverflowError) as error:
            raise GradlabError(
                f"Column {column.name!r} held {_WORDS[column.kind]} when the estimator was fitted. "
                f"Now it is of type {series.dtype}: {error}."
            ) from None
    check_finite(table, [c.name for c in columns], missing=True)
    return table


def _column(name: str, series: Any) -> Column:
    kind = _kind(name, series)
    values = sorted({cell_text(value) for value in _distinct(name, series)}) if kind == "category" else []
    return Column(name=name, kind=kind, values=values)


def _kind(name: str, series: Any) -> Kind:
    if series.dtype.name == "category":
        return "category"
    if series.dtype.kind in "biuf":
        return "number"
    if series.dtype.kind in "Mm":
        return "date"
    values = _distinct(name, series)
    if all(isinstance(value, _NUMBERS) for value in values):
        return "number"
    if all(isinstance(value, date) for value in values):
        return "date"
    for value in values:
        if not isinstance(value, (str, *_NUMBERS)):
            raise GradlabError(
                f"Column {name!r} holds {value!r}, which is neither a number nor a text nor a date. "
                "Turn it into one of them, or leave the column out."
            )
    return "category"


def _distinct(name: str, series: Any) -> list[Any]:
    """The different values, without the missing one."""
    try:
        return list(series.factorize()[1])
    except TypeError as error:
        raise GradlabError(f"The values of column {name!r} cannot be compared: {error}.") from None


def _numbers(series: Any, column: Column) -> Table:
    values: Table = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _codes(series: Any, column: Column) -> Table:
    places, distinct = series.factorize()
    codes = column.encode([cell_text(value) for value in distinct], lambda index: "")
    matched: Table = np.append(codes, MISSING_CODE)[places]  # the place of a missing value is -1: the last
    return matched


def _days(series: Any, column: Column) -> Table:
    kind = "timedelta64[us]" if series.dtype.kind == "m" else "datetime64[us]"
    if series.dtype.kind == "O":
        series = series.where(series.notna(), None)  # the only missing value that NumPy knows among objects
    moments = np.asarray(series, dtype=kind)
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / _DAY)


_READ = {"number": _numbers, "category": _codes, "date": _days}
