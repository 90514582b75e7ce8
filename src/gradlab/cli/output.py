"""How commands print: rich in a terminal, clean text in a pipe, one JSON object for scripts."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


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


def print_json(content: Any) -> None:
    """One object on stdout, and nothing else."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def table(*columns: str, rows: Iterable[Iterable[str]] = (), title: str | None = None) -> Table:
    """A table in the house style: numbers to the right, words to the left."""
    body = [list(row) for row in rows]
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        numeric = bool(body) and all(_is_number(row[i]) for row in body)
        made.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        made.add_row(*row)
    return made


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").rstrip("%") or "0")
    except ValueError:
        return text in ("", "–")
    return True


def number(value: Any) -> str:
    """A figure as people read it.

    >>> number(0.98328), number(1797), number(1e-8), number(None)
    ('0.9833', '1,797', '1e-08', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.3g}"


def as_typed(value: Any) -> str:
    """A knob's value as it would be typed.

    >>> as_typed([256, 256]), as_typed(True), as_typed(None)
    ('256,256', 'true', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def duration(seconds: float) -> str:
    """
    >>> duration(0.312), duration(75), duration(8000)
    ('0.31 s', '1 min 15 s', '2 h 13 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(value: float) -> str:
    """Large counts with a letter.

    >>> count(9610), count(18944), count(2.5e9)
    ('9,610', '18.9 k', '2.5 G')
    """
    if value < 1e4:
        return f"{value:,.0f}"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    raise AssertionError(value)


def figures_table(figures: Mapping[str, Mapping[str, Any]]) -> Table:
    """Metrics as rows, and a column for each of the named sets of figures."""
    names = list(dict.fromkeys(name for columns in figures.values() for name in columns))
    rows = ([name, *(number(columns.get(name)) for columns in figures.values())] for name in names)
    return table("", *figures, rows=rows)
