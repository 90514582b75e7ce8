"""What a table has to name, where a source was not told which column is what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradlab.errors import GradlabError
from gradlab.owners import shown
from gradlab.printable import listed

_LISTED = 30  # columns


def columns_to_name(values: Mapping[str, Any]) -> str:
    """The columns of the table of a source with these values, and the commands that name some of them."""
    from gradlab.data.frames import is_frame_file
    from gradlab.data.recognition import recognize
    from gradlab.data.tables.summary import TableSummary

    if values.get("path") is None:
        return ""
    path = Path(shown(Path(values["path"])))
    if not path.exists():
        return f"And {path} is not a file."
    try:
        kind = recognize(path)
        names = [] if kind.table is None else TableSummary.read(kind.table, beginning=True).names
    except GradlabError:  # which the source itself reports, as soon as it reads the file
        return ""
    if not names:
        return ""
    if is_frame_file(path):
        return f"The frame has the columns {listed(names, _LISTED)}.{_lines(kind.calls())}"
    return f"{kind.table} has the columns {listed(names, _LISTED)}.{_lines(kind.commands(path))}"


def _lines(ways: Mapping[str, str]) -> str:
    return "".join(f"\nTo {purpose}: {way}" for purpose, way in ways.items())
