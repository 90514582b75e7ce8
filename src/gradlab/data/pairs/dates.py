"""Dates as people write them, in many languages and styles, with their ISO form."""

import re
from datetime import date
from typing import Annotated

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.generated import Size
from gradlab.data.pairs.prepare import prepare_pairs
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.reader import SentenceReader
from gradlab.errors import GradlabError
from gradlab.registry import Count

_LOCALES = (
    "cs", "da", "de", "en", "en_GB", "es", "et", "fi", "fr", "hu", "id", "it", "ja", "ko", "lt", "nl", "pl",
    "pt", "ro", "ru", "sk", "sl", "sv", "tr", "uk", "zh",
)  # fmt: skip
_STYLES = ("full", "long", "medium", "d MMMM y", "MMMM d, y", "d MMM y", "EEE d MMMM y", "y MMMM d", "y-MM-dd")
_CASES = (str, str, str, str.lower, str.upper)  # mostly as it is printed


@sources.register("dates", shared=prepare_pairs)
def dates(
    seed: int,
    *,
    examples: Size = 20_000,
    first_year: Annotated[Count, "of the dates that are drawn"] = 1900,
    last_year: Annotated[Count, "of the dates that are drawn"] = 2050,
) -> Pairs:
    """Dates in words, such as "3. März 1998", and their ISO form. Needs Babel: pip install "gradlab[text]".

    A day is in one split alone. Forms that can be read in two ways without knowing the country, such as 03/04/1998, and
    years of two digits are left out.
    """
    if not 1000 <= first_year <= last_year <= 9999:
        raise GradlabError(f"Years have four digits, the first before the last; got {first_year} to {last_year}.")
    generator = np.random.default_rng(seed)
    start = date(first_year, 1, 1).toordinal()
    days = generator.integers(start, date(last_year, 12, 31).toordinal() + 1, examples)
    written = [_written(date.fromordinal(int(day)), generator) for day in days]
    isos = [date.fromordinal(int(day)).isoformat() for day in days]
    return Pairs.of_texts(written, isos, "date {} (from 0)".format, SentenceReader(), groups=days.astype(np.int64))


def _written(day: date, generator: np.random.Generator) -> str:
    """A date in a form that has one meaning."""
    try:
        from babel.dates import format_date
    except ImportError:
        raise GradlabError('Dates are written by Babel, which is not installed: pip install "gradlab[text]"') from None
    while True:
        locale, style = (options[generator.integers(len(options))] for options in (_LOCALES, _STYLES))
        case = _CASES[generator.integers(len(_CASES))]
        text = case(format_date(day, style, locale=locale))
        if is_plain(text, day):
            return text


def is_plain(text: str, day: date) -> bool:
    """Whether it has the whole year, and says in letters, or by standing between year and day, which is the month.

    >>> [is_plain(text, date(1998, 3, 4)) for text in ("4. März 1998", "1998-03-04", "03/04/1998", "4 mars 98")]
    [True, True, False, False]
    """
    numbers = re.findall(r"\d+", text)
    if f"{day.year}" not in numbers:
        return False
    return len(numbers) == 2 or int(numbers[0]) == day.year
