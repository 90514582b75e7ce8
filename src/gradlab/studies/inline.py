"""What a study shows of itself: one line of text, and a table with a chart in a notebook."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gradlab.inline import InlineResult, first_rows
from gradlab.markup import Html
from gradlab.studies.knobs import typed
from gradlab.wording import name_of, number


class InlineStudy(InlineResult):
    """A study in a folder, of a recipe."""

    path: Path
    recipe: str

    @property
    def _name(self) -> str:
        return str(self.path)


def figure_rows(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Html:
    """A table whose cells are values of knobs, or figures."""
    return first_rows(head, [[short_value(cell) for cell in row] for row in rows])


def short_value(value: Any) -> str:
    """A figure as people read it; another value as it is typed."""
    return number(value) if value is None or isinstance(value, float) else typed(value)


def split_names(splits: Iterable[str], metric: str) -> list[str]:
    """The heads of columns that have one metric on several splits."""
    return [f"{split} {name_of(metric)}" for split in splits]
