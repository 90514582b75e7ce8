"""How commands print: rich in a terminal, clean text in a pipe, one JSON object for scripts."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradlab.files import json_text
from gradlab.printable import printable
from gradlab.wording import number

_CELL = 500  # characters of a cell in a table


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
    """A line with its subject first. The text may be foreign: brackets in a user's names are no markup."""
    screen.print(Text.assemble((f"{key:<12} ", "dim"), printable(text, lines=True)), soft_wrap=True)


class _JsonAlone:
    """While a command was asked for JSON, stdout is for that one object: all else that is printed goes to stderr."""

    stdout: TextIO | None = None
    printed = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.stdout, self.printed = sys.stdout, False
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            self.stdout = None

    @property
    def wanted(self) -> bool:
        return self.stdout is not None and not self.printed


json_alone = _JsonAlone()


def print_json(content: Mapping[str, Any]) -> None:
    """One object on stdout, and nothing else."""
    stream = json_alone.stdout or sys.stdout
    text = json_text(content, ensure_ascii=False)
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:  # a terminal that has not all characters, or a file name that is no UTF-8
        text = json_text(content)
    print(text, file=stream, flush=True)
    json_alone.printed = True


def table(*columns: str, rows: Iterable[Iterable[str]] = (), title: str | None = None) -> Table:
    """A table in the house style: numbers to the right, words to the left."""
    body = [[printable(cell, _CELL) for cell in row] for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, title=title and Text(printable(title)), title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[i]) for row in body)
        grid.add_column(Text(printable(column, _CELL)), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        grid.add_row(*map(Text, row))
    return grid


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
    shown = table("", *figures, rows=rows)
    shown.columns[0].no_wrap = True  # a metric is one word, however many columns are beside it
    return shown
