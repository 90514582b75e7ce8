"""The metrics log of a run: one line of JSON per log point."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradlab.files import Damaged, parse_json
from gradlab.files.formats import Line


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The lines of a metrics log, read and as they are, up to the first that is not whole."""
    if not path.is_file():
        return
    with path.open(errors="replace", newline="\n") as file:
        for text in file:
            try:
                line = parse_json(text, Line, path)
            except Damaged:
                return
            # JSON knows no NaN, and nothing else is null in a line.
            yield {key: math.nan if value is None else value for key, value in line.items()}, text.rstrip("\n")
