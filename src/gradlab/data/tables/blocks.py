"""Rows of a CSV file, column by column: as texts, or straight from their bytes as numbers."""

import csv
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gradlab.data.tables.columns import read_numbers

Texts = Sequence[str]
Places = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
_SIGN = np.isin(np.arange(256), list(b"+-"))
_QUOTE, _LINE_END, _RETURN, _SPACE, _POINT = b'"\n\r .'
_SPACES = 8  # around a value that are passed over here; of more there are Python's own ways
# The quotient of a whole number and a power of ten is rounded but once where both are exact: up to 15 digits in a
# float, and up to 18 where a long double has 64 bits.
_NARROW = 15
_DIGITS = 18 if np.finfo(np.longdouble).nmant >= 63 else _NARROW
_POWERS = np.cumprod(np.array([1] + [10] * _DIGITS, dtype=np.longdouble))


class Block:
    """Some rows as texts, and the line on which each begins."""

    def __init__(self, columns: Sequence[Texts], lines: Sequence[int]):
        self.columns, self.lines = columns, lines

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"line {self.lines[row]}"

    def texts(self, columns: Sequence[int]) -> list[Texts]:
        """The values of some columns, without the white space around them."""
        return [self.columns[column] for column in columns]

    def numbers(self, columns: Sequence[int], decimal: str) -> tuple[npt.NDArray[np.float64], list[bool]]:
        """Some columns as numbers, NaN where one is missing, and which of them hold nothing but numbers."""
        numbers = np.full((len(columns), len(self)), np.nan)
        good = [_read_into(row, texts, decimal) for row, texts in zip(numbers, self.texts(columns), strict=True)]
        return numbers, good


class ByteBlock(Block):
    """Some rows as the bytes of the file: value i of a row is `data[starts[row, i]:stops[row, i]]`."""

    def __init__(self, data: Bytes, starts: Places, stops: Places, first_line: int, doubled: bool):
        self.data, self.starts, self.stops = data, starts, stops
        self.first_line, self.doubled = first_line, doubled

    def __len__(self) -> int:
        return len(self.starts)

    def last(self, rows: int) -> "ByteBlock":
        """The last of its rows."""
        return ByteBlock(self.data, self.starts[-rows:], self.stops[-rows:], self.first_line, self.doubled)

    @cached_property
    def lines(self) -> list[int]:  # type: ignore[override]
        ends = np.flatnonzero(self.data == _LINE_END)
        lines: list[int] = (self.first_line + np.searchsorted(ends, self.starts[:, 0])).tolist()
        return lines

    def texts(self, columns: Sequence[int]) -> list[Texts]:
        joined, _, place = self._joined(columns)
        texts = self._split(joined)
        return [stripped(texts[place[column] :: len(place)]) for column in columns]

    def numbers(self, columns: Sequence[int], decimal: str) -> tuple[npt.NDArray[np.float64], list[bool]]:
        if not columns:
            return super().numbers(columns, decimal)
        joined, ends, place = self._joined(columns)
        values, odd = _fixed_point(joined, ends, decimal)
        numbers, good = values.reshape(len(self), -1).T.copy(), [True] * len(place)
        if odd.any():
            texts = self._split(joined[np.repeat(odd, np.diff(ends, prepend=0))])
            rows, which = np.divmod(np.flatnonzero(odd), len(place))
            for i in np.unique(which).tolist():
                mine = np.flatnonzero(which == i)
                read = np.full(len(mine), np.nan)
                good[i] = _read_into(read, stripped([texts[j] for j in mine.tolist()]), decimal)
                numbers[i, rows[mine]] = read
        wanted = [place[column] for column in columns]
        return numbers[wanted], [good[i] for i in wanted]

    def _joined(self, columns: Sequence[int]) -> tuple[Bytes, Places, dict[int, int]]:
        """The bytes of all values of some columns, row by row, a zero after each; where each ends, that included; and
        which of a row's values is of which column: they stand in the order of the file."""
        place = {column: i for i, column in enumerate(sorted(set(columns)))}
        starts, stops = self.starts[:, [*place]], self.stops[:, [*place]]
        inside = np.zeros(len(self.data) + 1, dtype=np.int8)
        inside[starts] += 1
        inside[stops + 1] -= 1  # what stands at the stop, a separator or a quote, has the place of the zero
        joined = self.data[np.cumsum(inside[:-1], dtype=np.int8).view(bool)]
        ends = np.cumsum(stops.ravel() - starts.ravel() + 1)
        joined[ends - 1] = 0
        return joined, ends, place

    def _split(self, joined: Bytes) -> list[str]:
        texts = joined.tobytes().decode().split("\0")[:-1]
        return [text.replace('""', '"') for text in texts] if self.doubled else texts


def cut(content: bytes, separator: str, columns: int, first_line: int) -> ByteBlock | None:
    """The rows that end in these bytes; None where anything is unusual.

    That is any row with more or fewer values, a line without a value, a quote that is not closed or stands within a
    value, a zero byte, a line that ends otherwise, and a value that is longer than Python's own parser takes.
    """
    if b"\0" in content:
        return None
    data = np.frombuffer(content, np.uint8)
    is_end = (data == ord(separator)) | (data == _LINE_END)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes):
        is_end &= np.cumsum(data == _QUOTE, dtype=np.uint8) & 1 == 0
    ends = np.flatnonzero(is_end)
    lines = np.flatnonzero(data[ends] == _LINE_END)
    if len(lines) == 0 or (lines + 1 != columns * np.arange(1, len(lines) + 1)).any():
        return None
    stops = ends[: lines[-1] + 1]
    size = int(stops[-1]) + 1
    starts = np.concatenate([[0], stops[:-1] + 1])
    if b"\r" in content:
        last = stops[columns - 1 :: columns]
        last -= data[last - 1] == _RETURN
        if np.count_nonzero(data[:size] == _RETURN) != np.count_nonzero(data[last] == _RETURN):
            return None
    if b" " in content:
        for _ in range(_SPACES):
            starts += (starts < stops) & (data[starts] == _SPACE)
    doubled = False
    if len(quotes := quotes[quotes < size]):
        quoted = data[starts] == _QUOTE
        opening, closing = starts[quoted], stops[quoted] - 1
        if (closing <= opening).any() or (data[closing] != _QUOTE).any():
            return None
        # What is left are quotes within values, which must be quoted and have two for each.
        inner = np.setdiff1d(quotes, np.concatenate([opening, closing]), assume_unique=True)
        if len(inner) % 2 or (inner[1::2] != inner[::2] + 1).any():
            return None
        doubled = len(inner) > 0
        if doubled and not quoted[np.searchsorted(stops, inner)].all():
            return None
        starts, stops = starts + quoted, stops - quoted
    if b" " in content:
        for _ in range(_SPACES):
            stops = stops - ((starts < stops) & (data[stops - 1] == _SPACE))
    if (stops - starts).max() > csv.field_size_limit():
        return None
    return ByteBlock(data[:size], starts.reshape(-1, columns), stops.reshape(-1, columns), first_line, doubled)


def stripped(texts: Sequence[str]) -> Sequence[str]:
    """Without white space around them."""
    # One look at all of them together tells for most columns that there is nothing to strip.
    together = "".join(texts)
    if together == together.strip() and len(together.split(None, 1)) <= 1:
        return texts
    return [text.strip() for text in texts]


def _read_into(numbers: npt.NDArray[np.float64], texts: Texts, decimal: str) -> bool:
    try:
        numbers[:] = read_numbers(texts, decimal)
    except ValueError:
        return False
    return True


def _fixed_point(joined: Bytes, ends: Places, decimal: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Numbers written as digits with perhaps a sign and a point, and which values are not, or have too many digits.

    They are read as whole numbers without their point and divided by a power of ten: several times as fast as one by
    one, and with the same bits.
    """
    if decimal != ".":
        joined = np.where(joined == ord(decimal), np.uint8(_POINT), joined)
    sizes = np.diff(ends, prepend=0)
    firsts = ends - sizes
    signed = _SIGN[joined[firsts]]
    points = np.flatnonzero(joined == _POINT)
    with_point = np.searchsorted(ends, points, side="right")
    strange = ~_DIGIT[joined]
    strange[ends - 1] = strange[points] = strange[firsts[signed]] = False
    digits = sizes - 1 - signed
    decimals = np.zeros(len(ends), dtype=np.int64)
    decimals[with_point] = ends[with_point] - points - 2
    digits[with_point] -= 1  # once, even where there are several points
    odd = (digits < 1) | (digits > _DIGITS)
    odd[with_point[1:][with_point[1:] == with_point[:-1]]] = True
    odd[np.searchsorted(ends, np.flatnonzero(strange), side="right")] = True
    plain = joined[np.repeat(~odd, sizes)] if odd.any() else joined
    whole = np.fromstring(plain.tobytes().translate(bytes.maketrans(b"\0", b" "), b"."), dtype=np.int64, sep=" ")
    powers = _POWERS.astype(np.float64) if digits[~odd].max(initial=0) <= _NARROW else _POWERS
    quotients = whole / powers[decimals[~odd]]
    rounded = quotients.astype(np.float64, copy=False)
    rounded[(whole == 0) & (joined[firsts[~odd]] == ord("-"))] = -0.0
    numbers = np.full(len(ends), np.nan)
    numbers[~odd] = rounded
    if powers is _POWERS:  # half way between two floats it was perhaps rounded to there, and is rounded once more
        odd[np.flatnonzero(~odd)[np.abs(quotients - rounded) == np.spacing(np.abs(rounded)) / 2]] = True
    return numbers, odd
