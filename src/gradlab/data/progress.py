"""How far a long conversion is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradlab.errors import notice

Notify = Callable[[int], None]
"""Called with how much of the whole is done."""


@contextmanager
def converting(what: str, total: int, long: bool) -> Iterator[Notify]:
    """Short work is done in silence. Long work is announced on stderr, and in a terminal has a bar there."""
    if long:
        notice(what)
    if not long or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)
