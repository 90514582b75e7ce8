"""A column of a table: what its texts mean, and how they become numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.tables.numbers import NumberForm
from gradlab.errors import GradlabError

Kind = Literal["number", "category", "date"]
Use = Literal["input", "target", "group", "left out", "time", "series", "known"]
Where = Callable[[int], str]
"""Says in words where the text of an index stands."""

_NAN = ("NaN", "nan", "NAN", "Nan", "-NaN", "-nan")
_NULL = ("NULL", "Null", "null", "None", "none")
MISSING = frozenset(("", "?", "-", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaT", *_NAN, *_NULL))
MISSING_CODE, UNKNOWN_CODE = -1.0, -2.0

ISO = "ISO 8601"
DATE_FORMATS = (ISO, "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y")
_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Column:
    """Numbers stay numbers (NaN where missing), categories become codes (the index in `values`), dates become days."""

    name: str
    kind: Kind
    use: Use = "input"
    values: list[str] = field(default_factory=list)
    format: str = ""
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    note: str = ""

    @property
    def form(self) -> NumberForm:
        """How its numbers are written."""
        return NumberForm(self.decimal, self.thousands)

    @property
    def plain(self) -> bool:
        """Whether its numbers are written with nothing but digits, sign and decimal sign."""
        return self.kind == "number" and not self.thousands and not self.unit

    def encode(self, texts: Sequence[str], where: Where) -> npt.NDArray[np.float64]:
        """Texts as numbers. A category that is not in `values` gets the code of the unknown."""
        if self.kind == "category":
            codes = self._codes
            return np.array([codes.get(text, UNKNOWN_CODE) for text in texts], dtype=np.float64)
        if self.plain:
            try:  # most columns are clean, and read many times faster as a whole
                return read_numbers(texts, self.decimal)
            except ValueError:
                pass
        numbers = np.full(len(texts), np.nan)
        for i, text in enumerate(texts):
            if text in MISSING:
                continue
            value = parse_date(text, self.format) if self.kind == "date" else self._number(text)
            if value is None:
                raise GradlabError(
                    f"{where(i)}, column {self.name!r}: {text!r} is not a {self.kind}{self._of_the_form}. Mend it, or "
                    "leave it empty."
                )
            numbers[i] = value
        return numbers

    def _number(self, text: str) -> float | None:
        return parse_number(text, self.decimal) if self.plain else self.form.parse(text, self.unit)

    @property
    def _of_the_form(self) -> str:
        if self.kind == "date":
            return f" of the form {self.format}"
        example = f"1{self.thousands}234{self.decimal}50 {self.unit}".rstrip()
        return "" if example == "1234.50" else f" of the form {example}, as the others of this column"

    @cached_property
    def _codes(self) -> dict[str, float]:
        return {**dict.fromkeys(MISSING, MISSING_CODE), **{v: float(i) for i, v in enumerate(self.values)}}


def read_numbers(texts: Sequence[str], decimal: str = ".") -> npt.NDArray[np.float64]:
    """All of them at once, NaN where one is missing; ValueError where one is not a number."""
    if decimal != ".":
        texts = [text.replace(decimal, ".") for text in texts]
    # Most columns have no gap, and then nothing is done text by text but the reading itself.
    filled = texts if MISSING.isdisjoint(texts) else ["nan" if text in MISSING else text for text in texts]
    if "_" in "".join(filled):  # Python takes 10_2 for a number, 102
        raise ValueError
    numbers = np.array(filled, dtype=np.float64)
    if np.isnan(numbers).sum() != filled.count("nan"):  # other spellings of it, such as +nan
        raise ValueError
    return numbers


def parse_number(text: str, decimal: str = ".") -> float | None:
    """A number, perhaps an infinite one; None for anything else, NaN among it.

    >>> parse_number("-1e3"), parse_number("2,5", decimal=","), parse_number("1_000"), parse_number("+nan")
    (-1000.0, 2.5, None, None)
    """
    try:
        value = float(text.replace(decimal, "."))
    except ValueError:
        return None
    return None if "_" in text or value != value else value


def parse_date(text: str, form: str) -> float | None:
    """Days since 1970; the moment in UTC where a time zone is given.

    >>> parse_date("1970-01-03", ISO), parse_date("03.01.1970", "%d.%m.%Y"), parse_date("soon", ISO)
    (2.0, 2.0, None)
    """
    try:
        moment = datetime.fromisoformat(text) if form == ISO else datetime.strptime(text, form)
        moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # the latter where a zone leads out of the calendar
        return None
    return (moment - datetime(1970, 1, 1)).total_seconds() / _DAY
