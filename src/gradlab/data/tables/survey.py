"""What the columns of a table are: read off all their values, once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gradlab.data.tables.blocks import Block
from gradlab.data.tables.columns import (
    DATE_FORMATS,
    MISSING,
    MISSING_CODE,
    Column,
    Kind,
    Use,
    parse_date,
    parse_number,
)
from gradlab.data.tables.numbers import NumberForm, forms, split
from gradlab.errors import GradlabError
from gradlab.wording import counted, quantity

_MOST_VALUES = 10_000  # different texts of a column that are counted; with more it cannot be a category
_FEW = 20  # whole numbers of which there are no more than this are classes, where they are the target
_MANY, _EACH = 100, 20  # classes, if most have one example, or all of them: then they are probably none
_SHOWN = 3
_LARGEST = float(np.finfo(np.float32).max)


@dataclass
class Survey:
    """One column, block by block: as numbers while it holds nothing else, or as texts."""

    name: str
    decimal: str = "."
    as_text: bool = False
    dates: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict.fromkeys(DATE_FORMATS, ()))
    """The forms of a date that every text has, each with the first and the last day in it."""
    written: list[NumberForm] | None = None
    """The forms of a number that every text has, the likeliest first; None before any text was seen."""
    units: set[str] = field(default_factory=set)
    written_as: str = ""  # one of its numbers, as it stands in the file
    present: int = 0
    missing: int = 0
    first_missing: str = ""
    values: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    counts: Counter[str] = field(default_factory=Counter)
    """The different numbers, or the different texts in the order in which they first occur."""
    overflown: bool = False
    numbers: int = 0
    not_a_number: tuple[str, str] | None = None  # where, and what
    two_forms: tuple[str, str, str] | None = None  # a number, and where another stands that is written otherwise
    too_large: str = ""
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    counting: bool = True  # each number is the one before plus one
    last: float = np.nan
    forms: set[str] = field(default_factory=set)
    """What the values have been returned as, so far: `number`, `category`, or a form of a date."""

    def add_numbers(
        self, values: npt.NDArray[np.float64], block: Block, index: int, form: str = "plain numbers"
    ) -> None:
        """Numbers, NaN where one is missing, of this column of the block."""
        self.forms.add(form)
        is_missing = np.isnan(values)
        there = values[~is_missing] if is_missing.any() else values
        if len(there) < len(values) and not self.missing:
            self.first_missing = block.where(int(np.argmax(is_missing)))
        self.missing, self.present = self.missing + len(values) - len(there), self.present + len(there)
        if len(there) == 0:
            return
        if not self.overflown:
            self.values = np.unique(np.concatenate([self.values, there]))
            self.overflown = len(self.values) > _MOST_VALUES
        self.low, self.high = min(self.low, float(there.min())), max(self.high, float(there.max()))
        if not self.too_large and max(-self.low, self.high) > _LARGEST:
            row = int(np.argmax(np.abs(values) > _LARGEST))
            self.too_large = f"{block.where(row)}, column {self.name!r}: {block.texts([index])[0][row]}"
        self.whole = self.whole and bool((there == np.round(there)).all())
        if self.counting:
            with np.errstate(all="ignore"):  # of infinity
                steps = np.diff(there, prepend=self.last)
            self.counting = bool((steps[np.isfinite(steps)] == 1).all())
        self.last = float(there[-1])

    def add_texts(self, texts: Sequence[str], block: Block, index: int) -> npt.NDArray[np.float64]:
        """Texts as numbers: dates as days, others as codes in the order in which they first occur."""
        here = Counter(texts)  # texts recur, and each needs a look but once
        missing = sum(here.pop(text) for text in MISSING & here.keys())
        days = self._look_at_dates(here)
        self._look_at_numbers(here, texts, block)
        if self.kind() == "number":
            form = self.form
            numbers = {text: form.parse(text) for text in here}
            values = np.array([numbers.get(text, np.nan) for text in texts], dtype=np.float64)
            self.add_numbers(values, block, index, str(form))
            return values
        if missing and not self.missing:
            self.first_missing = block.where(next(i for i, text in enumerate(texts) if text in MISSING))
        self.missing, self.present = self.missing + missing, self.present + len(texts) - missing
        if not self.overflown:
            self.counts.update(here)
            self.overflown = len(self.counts) > _MOST_VALUES
        if self.kind() == "date":
            self.forms.add(next(iter(self.dates)))
            return np.array([days.get(text, np.nan) for text in texts])
        self.forms.add("category")
        codes = dict.fromkeys(MISSING, MISSING_CODE) | {text: float(i) for i, text in enumerate(self.counts)}
        return np.array([*map(codes.get, texts)], dtype=np.float64)  # NaN from where there are too many on

    def _look_at_numbers(self, here: Mapping[str, int], texts: Sequence[str], block: Block) -> None:
        """Which forms of a number all texts have, and how many texts are numbers in some form."""
        every = forms(self.decimal)
        if self.written is None:
            self.written = every
        for text, times in here.items():
            parts = split(text) if any(form.parse(text) is not None for form in every) else None
            if parts is None and parse_number(text, self.decimal) is None:
                if self.not_a_number is None:
                    self.not_a_number = block.where(texts.index(text)), text
                self.written = []
                continue
            self.numbers += times
            fitting = [form for form in self.written if form.parse(text) is not None]
            if self.written and parts is not None:
                if not fitting or (parts.unit and self.units - {parts.unit}):
                    self.two_forms = self.written_as, block.where(texts.index(text)), text
                self.units |= {parts.unit} - {""}
                if not self.written_as or len(fitting) < len(self.written):
                    self.written_as = text
            self.written = fitting if len(self.units) < 2 else []

    @property
    def form(self) -> NumberForm:
        """How its numbers are written."""
        return self.written[0] if self.written else NumberForm(self.decimal)

    def _look_at_dates(self, texts: Iterable[str]) -> dict[str, float]:
        """The days of these texts in the first form that all have."""
        first: dict[str, float] = {}
        for form, ends in list(self.dates.items()):
            days = {}
            for text in dict.fromkeys((*ends, *texts)):
                day = parse_date(text, form)
                if day is None:
                    del self.dates[form]
                    break
                days[text] = day
            else:
                self.dates[form] = (min(days, key=days.__getitem__), max(days, key=days.__getitem__)) if days else ()
                first = first or days
        return first

    def again(self) -> "Survey":
        """A new one that knows from the start what this one is."""
        kind = self.kind()
        dates: dict[str, tuple[str, ...]] = {form: () for form in self.dates if kind == "date"}
        written = [self.form] if kind == "number" else []
        return Survey(self.name, self.decimal, self.as_text, dates, written)

    # What it is.

    def kind(self) -> Kind:
        if not self.as_text:
            return "number"
        if self.dates and not self.numbers:
            return "date"
        return "number" if self.written else "category"

    @property
    def distinct(self) -> int:
        return len(self.values if self.kind() == "number" else self.counts)

    @property
    def first(self) -> str:
        """Of a column with one value: that."""
        return quantity(self.values[0]) if self.kind() == "number" else next(iter(self.counts))

    def classes(self, kind: Kind) -> list[str] | None:
        """Where this is the target: its classes in order, or None where it is a number to be predicted."""
        if kind == "category":
            return sorted(self.counts)
        return [f"{value:.0f}" for value in self.values + 0.0] if self.whole and self.distinct <= _FEW else None

    def check_target(self, path: str) -> None:
        """Where this is the target: refuse texts of which most occur but once, since nobody can learn such classes."""
        single = sum(count == 1 for count in self.counts.values())
        if (self.distinct >= _MANY and 2 * single > self.distinct) or single == self.distinct >= _EACH:
            raise GradlabError(
                f"{path}: the target {self.name!r} has {self.distinct:,} classes, of which {single:,} have one "
                f"example. Is it an identifier? Then name another target. Are these numbers? Then say so: "
                f"data.numbers={self.name}. To take them as classes all the same: data.categories={self.name}"
            )

    def identifier(self, kind: Kind) -> str:
        """Why this column only names its rows, or nothing."""
        everyone = self.distinct == self.present and not self.overflown
        if kind == "category":
            if self.overflown:
                return f"more than {_MOST_VALUES:,} different texts"
            if everyone and self.present >= 10:
                return "a different text in every row"
            if self.distinct > max(50, self.present // 2):
                return f"{self.distinct:,} different texts in {self.present:,} rows"
        if kind == "number" and self.whole and self.present >= 10:
            named = self.name.lower().replace("-", "_").split("_")[-1] in ("id", "index", "key", "uuid", "nr", "no")
            if self.counting:
                return "it counts the rows"
            if named and everyone:
                return "a different whole number in every row"
            if named and self.overflown:
                return f"more than {_MOST_VALUES:,} different whole numbers"
        return ""

    def check(self, kind: Kind, forced: bool, path: str) -> None:
        """Refuse what is neither the one nor the other."""
        if self.present == 0:
            raise GradlabError(
                f"{path}: column {self.name!r} has no value in any row. Leave it out: data.drop={self.name}"
            )
        if kind == "category" and not forced and self.numbers == self.present and self.two_forms:
            one, where, other = self.two_forms
            raise GradlabError(
                f"{path}, {where}, column {self.name!r}: {other!r} is written otherwise than {one!r} above it, so that "
                "one of them would be misread. Write all numbers of the column alike, or take it as categories: "
                f"data.categories={self.name}"
            )
        if kind == "category" and not forced and self.numbers >= 0.8 * self.present and self.not_a_number:
            where, text = self.not_a_number
            raise GradlabError(
                f"{path}, {where}, column {self.name!r}: {text!r} is not a number, but {self.numbers:,} of the "
                f"{counted(self.present, 'value')} are. Mend it or leave it empty, or take the column as categories: "
                f"data.categories={self.name}"
            )
        if kind == "number" and self.too_large:
            raise GradlabError(f"{path}, {self.too_large} is not a finite number of single precision. Mend it.")

    def column(self, kind: Kind, use: Use, note: str = "") -> Column:
        gaps = f"; {self.missing:,} missing" if self.missing else ""
        return Column(
            name=self.name,
            kind=kind,
            use=use,
            values=sorted(self.counts) if kind == "category" and use in ("input", "target") else [],
            format=next(iter(self.dates)) if kind == "date" else "",
            decimal=self.form.decimal,
            thousands=self.form.thousands if self.as_text and kind == "number" else "",
            unit=next(iter(self.units), "") if kind == "number" else "",
            note=note or self.values_in_words(kind) + gaps,
        )

    def values_in_words(self, kind: Kind) -> str:
        """Least and most, or the most frequent texts."""
        if kind == "number":
            written = f", written as {self.written_as}" if self.as_text else ""
            return f"{quantity(self.low)} to {quantity(self.high)}{written}"
        if kind == "date":
            form, ends = next(iter(self.dates.items()))
            return f"{' to '.join(ends)} ({form})"
        common = [text for text, _ in self.counts.most_common(_SHOWN)]
        more = f", … ({self.distinct} in all)" if self.distinct > _SHOWN else ""
        return ", ".join(common) + more


def add_block(surveys: Sequence[Survey], block: Block, decimal: str) -> npt.NDArray[np.float64]:
    """Survey some rows of a table, and return their values as numbers."""
    values = np.empty((len(block), len(surveys)))
    plain = [i for i, each in enumerate(surveys) if not each.as_text]
    numbers, good = block.numbers(plain, decimal)
    for i, column, is_good in zip(plain, numbers, good, strict=True):
        surveys[i].as_text = not is_good
        if is_good:
            surveys[i].add_numbers(column, block, i)
            values[:, i] = column
    texts = [i for i, each in enumerate(surveys) if each.as_text]
    for i, column in zip(texts, block.texts(texts), strict=True):
        values[:, i] = surveys[i].add_texts(column, block, i)
    return values


def must_read_again(surveys: Iterable[Survey]) -> bool:
    """Whether a column turned out to be something else than its first rows seemed to be."""
    return any(len(each.forms) > 1 for each in surveys)
