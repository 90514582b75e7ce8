"""How commands print: rich in a terminal, clean text in a pipe, one JSON object for scripts."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradlab.wording import number


def console(plain: bool = False) -> Console:
    """Where people read. In a pipe, or with --plain, without colours or control codes."""
    plain = plain or not sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        highlight=False,
        soft_wrap=False,
        no_color=plain,
        width=100 if plain else None,
        force_terminal=False if plain else None,
    )


def say(screen: Console, key: str, text: str) -> None:
    """A line with its subject first. The text is taken as it is: brackets in a user's names are no markup."""
    screen.print(Text.assemble((f"{key:<13}", "dim"), text), soft_wrap=True)


def print_json(content: Any) -> None:
    """One object on stdout, and nothing else."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def table(*columns: str, rows: Iterable[Iterable[str]] = (), title: str | None = None) -> Table:
    """A table in the house style: numbers to the right, words to the left."""
    body = [list(row) for row in rows]
    made = Table(box=box.SIMPLE_HEAD, title=title and Text(title), title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[i]) for row in body)
        made.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        made.add_row(*map(Text, row))
    return made


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").rstrip("%") or "0")
    except ValueError:
        return text in ("", "–")
    return True


def figures_table(figures: Mapping[str, Mapping[str, Any]]) -> Table:
    """Metrics as rows, and a column for each of the named sets of figures."""
    names = list(dict.fromkeys(name for columns in figures.values() for name in columns))
    rows = ([name, *(number(columns.get(name)) for columns in figures.values())] for name in names)
    return table("", *figures, rows=rows)
