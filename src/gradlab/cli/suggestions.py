"""What `gradlab data show` prints of data whose target is not named yet, and the trainings that it suggests."""

from collections.abc import Mapping
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from gradlab.cli.output import say, table
from gradlab.errors import GradlabError
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.data.recognition import PathKind
    from gradlab.data.tables.summary import TableSummary

_COLUMNS = 40  # that are shown


def source_and_path(name: str | None, path: str | None) -> tuple[str | None, str | None]:
    """A source and where its data are: the name may be either."""
    from gradlab.data import sources

    if name is None and path is None:
        raise GradlabError("Name a file or folder, or a source: gradlab data show FILE. `gradlab data list` has those.")
    if name is None or name in sources or not exists(name):
        return name, path
    return None, name


def kind_at(path: str | None, source: str | None) -> "PathKind | None":
    """What is at a path; nothing where a source was named that has data at no path, or reads it in a way of its own."""
    from gradlab.data.recognition import recognize

    if path is None:
        return None
    try:
        return recognize(Path(path))
    except GradlabError:
        if source is None:
            raise
        return None


def lacks_target(kind: "PathKind | None", source: str, values: Mapping[str, str]) -> bool:
    """Whether it is a table whose target is still to be named."""
    from gradlab.data import sources

    if kind is None or kind.table is None:
        return False
    knobs = sources.schema(source).knobs  # another key is refused by the source
    return "target" in knobs.keys() - values.keys() and values.keys() <= knobs.keys() and values.get("level") != "edge"


def show_table(screen: Console, name: str, summary: "TableSummary") -> None:
    """The columns of a table and its first rows."""
    say(screen, "table", f"{name}: {counted(summary.rows, 'row')}, {counted(len(summary.columns), 'column')}")
    shown = summary.columns[:_COLUMNS]
    rows = ([c.name, c.kind, c.values, f"{c.distinct:,}", f"{c.missing:,}"] for c in shown)
    screen.print(table("column", "kind", "values", "different", "missing", rows=rows))
    screen.print(table(*(c.name for c in shown), rows=(row[:_COLUMNS] for row in summary.head), title="First rows"))
    if len(summary.columns) > _COLUMNS:
        screen.print(f"… {len(summary.columns) - _COLUMNS:,} more columns")


def show_commands(screen: Console, commands: Mapping[str, str]) -> None:
    """What could be trained, as commands to paste."""
    for purpose, command in commands.items():
        say(screen, "train", f"{command}   # {purpose}")
