"""What the columns of a table are: read off all their values, once."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from gradlab.data.progress import Tell
from gradlab.data.tables.columns import DATE_FORMATS, MISSING, Column, Kind, Use, parse_date, parse_number, read_numbers
from gradlab.data.tables.records import Chunk, Records
from gradlab.errors import GradlabError
from gradlab.wording import counted

_MOST_VALUES = 10_000  # different texts of a column that are counted; with more it cannot be a category
_FEW = 20  # whole numbers of which there are no more than this are classes, where they are the target
_SHOWN = 3


@dataclass
class Survey:
    """One column, chunk by chunk."""

    name: str
    decimal: str
    present: int = 0
    missing: int = 0
    first_missing: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    overflown: bool = False
    numbers: int = 0
    not_a_number: tuple[str, str] | None = None  # where, and what
    too_large: str = ""
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    counting: bool = True  # each number is the one before plus one
    last: float = np.nan
    dates: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict.fromkeys(DATE_FORMATS, ()))
    """The forms of a date that every value has, each with the first and the last day in it."""

    def add(self, texts: tuple[str, ...], chunk: Chunk) -> None:
        there = texts if MISSING.isdisjoint(texts) else tuple([text for text in texts if text not in MISSING])
        if len(there) < len(texts) and not self.missing:
            self.first_missing = chunk.where(next(i for i, text in enumerate(texts) if text in MISSING))
        self.missing += len(texts) - len(there)
        self.present += len(there)
        if not self.overflown:
            self.counts.update(there)
            self.overflown = len(self.counts) > _MOST_VALUES
        self._look_at_numbers(texts, there, chunk)
        if self.not_a_number:
            self._look_at_dates(there)

    def _look_at_dates(self, there: tuple[str, ...]) -> None:
        for form, ends in list(self.dates.items()):
            days = {}
            for text in dict.fromkeys((*ends, *there)):
                day = parse_date(text, form)
                if day is None:
                    del self.dates[form]
                    break
                days[text] = day
            else:
                self.dates[form] = (min(days, key=days.__getitem__), max(days, key=days.__getitem__)) if days else ()

    def _look_at_numbers(self, texts: tuple[str, ...], there: tuple[str, ...], chunk: Chunk) -> None:
        try:
            values = read_numbers(there, self.decimal)
            self.numbers += len(values)
        except ValueError:
            counts = Counter(there)  # texts recur, and each needs a look but once
            parsed = {text: parse_number(text, self.decimal) for text in counts}
            self.numbers += sum(counts[text] for text, value in parsed.items() if value is not None)
            if self.not_a_number is None:
                bad = next(text for text, value in parsed.items() if value is None)
                self.not_a_number = chunk.where(texts.index(bad)), bad
            values = np.array([value for text in there if (value := parsed[text]) is not None])
        if len(values) == 0:
            return
        beyond = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)
        if len(beyond) and len(values) == len(there) and not self.too_large:
            bad = there[int(beyond[0])]
            self.too_large = f"{chunk.where(texts.index(bad))}, column {self.name!r}: {bad}"
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.whole = self.whole and bool((values == np.round(values)).all())
        with np.errstate(all="ignore"):  # of infinity
            steps = np.diff(values, prepend=self.last)
        self.counting = self.counting and bool((steps[np.isfinite(steps)] == 1).all())
        self.last = float(values[-1])

    # What it is.

    def kind(self) -> Kind:
        if self.not_a_number is None:
            return "number"
        return "date" if self.dates and not self.numbers else "category"

    @property
    def distinct(self) -> int:
        return len(self.counts)

    def classes(self, kind: Kind) -> list[str] | None:
        """Where this is the target: its classes in order, or None where it is a number to be predicted."""
        if kind == "category":
            return sorted(self.counts)
        if not self.whole or self.distinct > _FEW:
            return None
        return [f"{value:.0f}" for value in sorted({(parse_number(t, self.decimal) or 0.0) + 0.0 for t in self.counts})]

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
            decimal=self.decimal,
            note=note or self._range(kind) + gaps,
        )

    def _range(self, kind: Kind) -> str:
        if kind == "number":
            return f"{self.low:g} to {self.high:g}"
        if kind == "date":
            form, ends = next(iter(self.dates.items()))
            return f"{' to '.join(ends)} ({form})"
        common = [text for text, _ in self.counts.most_common(_SHOWN)]
        more = f", … ({self.distinct} in all)" if self.distinct > _SHOWN else ""
        return ", ".join(common) + more


def survey(records: Records, decimal: str, tell: Tell) -> list[Survey]:
    """Every column, from all its values."""
    surveys = [Survey(name, decimal) for name in records.names]
    for chunk in records:
        tell(records.position)
        for each, texts in zip(surveys, chunk.columns, strict=True):
            each.add(texts, chunk)
    return surveys
