"""Series in a CSV file: a row for each time, or in long form for each time of each series."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.reading import Reading
from gradlab.data.series.panel import Numbers, TimeSeries
from gradlab.data.series.spacing import ON_GRID, Spacing
from gradlab.data.tables.blocks import Block
from gradlab.data.tables.columns import DATE_FORMATS, MISSING, Column, Use, parse_date
from gradlab.data.tables.records import SEPARATORS, Records
from gradlab.data.tables.survey import Survey
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError, unknown
from gradlab.wording import counted

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, kw_only=True)
class SeriesReader:
    """Reads series as those of the training file were read, whatever the order of the columns."""

    columns: list[Column]
    spacing: Spacing | None = None
    separator: str = ","
    encoding: str = "utf-8"

    kind = "series"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    @property
    def target(self) -> str | None:
        return self.named("target")[0]

    @property
    def headings(self) -> dict[str, str]:
        """What the user calls what a forecast says."""
        uses: dict[str, Use] = {"series": "series", "time": "time", "value": "target"}
        return {"low": "low", "high": "high"} | {key: name for key, use in uses.items() for name in self.named(use)}

    def named(self, *uses: Use) -> list[str]:
        """The columns of these uses, in the order of the uses."""
        return [column.name for use in uses for column in self.columns if column.use == use]

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        if beside:
            raise GradlabError("The lines of a forecast are named by their times: leave out --id.")
        if not isfile(source):
            raise GradlabError(f"{source} is not a file. Give a CSV file with the columns {', '.join(self._names)}.")
        separator = "auto" if self.separator in SEPARATORS else self.separator
        series, _ = self.series_in(records_with(source, self._names, separator, self.encoding))
        return Reading(as_array(series))

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self.columns]

    def series_in(self, records: Records) -> tuple[list[TimeSeries], Spacing]:
        """The series of a file, each checked, and the spacing of their times."""
        path, block = str(records.path), whole(records, self._names)
        texts = dict(zip(self._names, block.columns, strict=True))

        def where(row: int) -> str:
            return f"{path}, {block.where(row)}"

        numbers = {c.name: c.encode(texts[c.name], where) for c in self.columns if c.kind != "category"}
        groups = _groups(texts, self.named("series"), len(block))
        (time,) = self.named("time")
        self._check_there(numbers[time], time, np.arange(len(block)), where)
        times = {name: numbers[time][rows] for name, rows in groups.items()}
        form = next(column.format for column in self.columns if column.use == "time")
        spacing = self.spacing or Spacing.of(list(times.values()), form)
        places = {name: _Place(name, rows, time, texts[time], where) for name, rows in groups.items()}
        if spacing is None:
            raise next(iter(places.values())).not_later(1)
        for name, place in places.items():
            place.check(times[name], spacing)
        return [self._one(p, numbers, times[n], spacing, where) for n, p in places.items()], spacing

    def _one(
        self, place: "_Place", numbers: Mapping[str, Numbers], times: Numbers, spacing: Spacing, where: Any
    ) -> TimeSeries:
        """A series; rows at its end that have no value are times to be predicted."""
        target, rows = self.named("target")[0], place.rows
        values = numbers[target][rows]
        there = np.flatnonzero(~np.isnan(values))
        if not len(there):
            raise GradlabError(f"{where(rows[0])}, column {target!r}: {place.words} has no value in any row.")
        past, known, count = self.named("input"), self.named("known"), int(there[-1]) + 1
        self._check_there(values[:count], target, rows, where)
        for name in (*past, *known):
            self._check_there(numbers[name][rows][: count if name in past else None], name, rows, where)
        columns = [numbers[name][rows] for name in (*past, *known)]
        return TimeSeries(
            name=place.name,
            start=round(float(spacing.positions(times[:1])[0])),
            values=values[:count],
            covariates=np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0)),
            source=str(where(rows[0])).partition(", line")[0],
        )

    def _check_there(self, values: Numbers, name: str, rows: npt.NDArray[np.int64], where: Any) -> None:
        """Every row needs a finite number."""
        wrong = np.flatnonzero(~(np.abs(values) <= _LARGEST))
        if len(wrong):
            what = "the value is missing" if np.isnan(values[wrong[0]]) else "the number is not finite"
            more = " Only at the end of a series, for times to be predicted, may it be empty." * (name == self.target)
            raise GradlabError(
                f"{where(rows[wrong[0]])}, column {name!r}: {what} ({counted(len(wrong), 'row')} in all). "
                f"Fill it in: a series has a number at every time.{more}"
            )


@dataclass(frozen=True)
class _Place:
    """Where the times of one series stand, for messages."""

    name: str
    rows: npt.NDArray[np.int64]
    column: str
    texts: Sequence[str]
    where: Any

    @property
    def words(self) -> str:
        return f"series {self.name!r}" if self.name else "the series"

    def check(self, times: Numbers, spacing: Spacing) -> None:
        """Refuse what is not sorted, twice there, between the steps or behind a gap."""
        positions = spacing.positions(times)
        steps = np.diff(positions)
        off = np.flatnonzero(np.abs(positions - np.round(positions)) > ON_GRID)
        wrong, back = np.flatnonzero(np.abs(steps - 1) > ON_GRID), np.flatnonzero(steps < ON_GRID)
        if len(back):
            raise self.not_later(int(back[0]) + 1)
        if len(off):
            raise self._error(int(off[0]), f"is not a whole number of steps of {spacing} from the others")
        if len(wrong):
            row = int(wrong[0]) + 1
            missing = counted(round(steps[row - 1]) - 1, "row")
            after = f"comes after {self.texts[self.rows[row - 1]]} in steps of {spacing}: {missing} missing"
            raise self._error(row, after, "Put in the rows that are missing, or name a column that counts the rows")

    def not_later(self, row: int) -> GradlabError:
        row = min(row, len(self.rows) - 1)
        before, here = (self.texts[self.rows[r]] for r in (max(0, row - 1), row))
        if len(self.rows) < 2:
            return self._error(row, "is its only row", "Give more rows")
        if before == here:
            several = "" if self.name else ", or, if these are several series, name their column: data.series=COLUMN"
            return self._error(row, "is there twice", f"Remove one of the rows{several}")
        return self._error(row, f"comes after {before}, which is later", "Sort the rows by time")

    def _error(self, row: int, what: str, remedy: str = "Mend it") -> GradlabError:
        place, of = self.rows[row], f" of {self.words}" if self.name else ""
        return GradlabError(f"{self.where(place)}, column {self.column!r}: {self.texts[place]}{of} {what}. {remedy}.")


def _groups(texts: Mapping[str, Sequence[str]], column: list[str], rows: int) -> dict[str, npt.NDArray[np.int64]]:
    """The rows of each series, by its name; without a column for it there is one."""
    if not column:
        return {"": np.arange(rows)}
    names, members = np.unique(np.array(texts[column[0]], dtype=str), return_inverse=True)
    return {str(name): np.flatnonzero(members == i) for i, name in enumerate(names)}


def records_with(path: str, names: Sequence[str], separator: str, encoding: str) -> Records:
    """A file that has these columns."""
    records = Records(Path(path), separator, encoding)
    for name in names:
        if name not in records.names:
            raise unknown(f"column in {path},", name, records.names)
    return records


def whole(records: Records, names: Sequence[str]) -> Block:
    """Some columns of all rows."""
    columns: list[list[str]] = [[] for _ in names]
    lines: list[int] = []
    for block in records:
        for column, texts in zip(columns, block.texts([records.names.index(name) for name in names]), strict=True):
            column += texts
        lines += block.lines
    if not lines:
        raise GradlabError(f"{records.path} has a line of column names, but no row below it.")
    return Block(columns, lines)


def surveyed(records: Records, uses: Mapping[str, Use]) -> list[Column]:
    """What the columns of a file hold, each for its use: times are numbers or dates, all else but names numbers."""
    block = whole(records, list(uses))
    decimal = records.decimal
    columns = []
    for i, (name, use) in enumerate(uses.items()):
        survey = Survey(name, decimal)
        (numbers,), (good,) = block.numbers([i], decimal)
        if good:
            survey.add_numbers(numbers, block, i)
        else:
            survey.as_text = True
            survey.add_texts(block.columns[i], block, i)
        columns.append(_column(survey, use, str(records.path), block, i))
    return columns


def _column(survey: Survey, use: Use, path: str, block: Block, index: int) -> Column:
    kind = "category" if use == "series" else survey.kind()
    if survey.present == 0:
        raise GradlabError(f"{path}: column {survey.name!r} has no value in any row.")
    if kind == "category" and use == "time":
        where, text = _no_date(block, index)
        raise GradlabError(
            f"{path}, {where}, column {survey.name!r}: {text!r} is no time. data.time takes numbers, or dates of one "
            "form, as 2026-03-01 or 2026-03-01 14:00."
        )
    if kind != "number" and use not in ("time", "series"):
        where, text = survey.not_a_number or ("the first row", "")
        raise GradlabError(f"{path}, {where}, column {survey.name!r}: {text!r} is not a number. Mend it.")
    return replace(survey.column(kind, use), values=[])


def _no_date(block: Block, index: int) -> tuple[str, str]:
    """The first text that is no date in a form of the first one: where it stands, and what it is."""
    texts = [(i, text) for i, text in enumerate(block.columns[index]) if text not in MISSING]
    forms = [form for form in DATE_FORMATS if parse_date(texts[0][1], form) is not None]
    row, text = next((each for each in texts if all(parse_date(each[1], form) is None for form in forms)), texts[0])
    return block.where(row), text
