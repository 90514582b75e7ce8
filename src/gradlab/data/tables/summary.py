"""What is in a table, before it is said which column is the target."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gradlab.data.tables.blocks import Block
from gradlab.data.tables.columns import Kind
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey, add_block, must_read_again

_HEAD = 5  # first rows that are kept
_LONG, _MOSTLY = 4, 0.5  # words of a text that is more than a name; share of different ones
_TARGETS = ("target", "label", "class", "y", "outcome", "response", "price", "survived", "churn", "species", "score")


@dataclass(frozen=True)
class ColumnSummary:
    """A column: its kind, its values in words, and how many are missing."""

    name: str
    kind: Kind
    values: str
    missing: int
    distinct: int
    is_identifier: bool
    is_text: bool
    """Whether it holds sentences rather than names."""

    @classmethod
    def summarize(cls, survey: Survey) -> "ColumnSummary":
        kind = survey.kind() if survey.present else "category"
        return cls(
            name=survey.name,
            kind=kind,
            values=survey.values_in_words(kind) if survey.present else "no value",
            missing=survey.missing,
            distinct=survey.distinct,
            is_identifier=bool(survey.identifier(kind)),
            is_text=kind == "category" and survey.distinct > _MOSTLY * survey.present and _words(survey) >= _LONG,
        )

    @property
    def can_be_target(self) -> bool:
        return self.kind != "date" and self.distinct > 1 and not self.is_identifier and not self.is_text


@dataclass(frozen=True)
class TableSummary:
    """The columns of a table, how many rows it has, and the first of them."""

    columns: list[ColumnSummary]
    rows: int
    head: list[list[str]]

    @classmethod
    def read(
        cls, path: Path, separator: str = "auto", encoding: str = "utf-8", beginning: bool = False
    ) -> "TableSummary":
        """Of a CSV file; of its `beginning` alone where that says enough."""
        records = Records(path, separator, encoding)
        surveys = [Survey(name, records.decimal) for name in records.names]
        head, rows = _survey(surveys, records, _first(records, beginning))
        while must_read_again(surveys):
            surveys = [survey.again() for survey in surveys]
            head, rows = _survey(surveys, records, _first(records, beginning))
        return cls([ColumnSummary.summarize(survey) for survey in surveys], rows, head)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def select_kind(self, kind: Kind) -> list[ColumnSummary]:
        return [column for column in self.columns if column.kind == kind]

    @property
    def likely_target(self) -> str | None:
        """A column with a name that targets often have, else the last that can be predicted."""
        names = [column.name for column in self.columns if column.can_be_target]
        usual = [name for usual in _TARGETS for name in names if name.lower() == usual]
        return next(iter([*usual, *reversed(names)]), None)

    @property
    def text_column(self) -> str | None:
        """The first that holds sentences."""
        return next((column.name for column in self.columns if column.is_text), None)


def _first(records: Records, beginning: bool) -> Iterable[Block]:
    return islice(records, 1) if beginning else records


def _survey(surveys: list[Survey], records: Records, blocks: Iterable[Block]) -> tuple[list[list[str]], int]:
    """Survey all rows; return the first of them and their number."""
    head: list[list[str]] = []
    rows = 0
    for block in blocks:
        if not head:
            columns = block.texts(range(len(surveys)))
            head = [list(row) for row in islice(zip(*columns, strict=True), _HEAD)]
        add_block(surveys, block, records.decimal)
        rows += len(block)
    return head, rows


def _words(survey: Survey) -> float:
    """The mean number of words of its texts."""
    return sum(len(text.split()) for text in survey.counts) / max(1, len(survey.counts))
