"""New sources for a model of pairs of texts: sentences in a file, or one on the command line."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradlab.data.reading import Reading, refuse_columns
from gradlab.data.text.documents import Document
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError
from gradlab.printable import printable

_FILES = (".txt", ".tsv", ".csv")


@dataclass(frozen=True, kw_only=True)
class SentenceReader:
    """Reads a sentence from each line of a file, or takes what is no file as a sentence itself."""

    column: str | None = None
    """Which column of a table with names has the sources; without names it is the first."""

    kind = "sentences"
    target = None

    def describe(self) -> dict[str, Any]:
        """As data.json holds it."""
        return {"kind": self.kind, **asdict(self)}

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        refuse_columns(source, beside)
        path = Path(source)
        if not _is_file(source):
            if path.suffix.lower() in _FILES and not any(c.isspace() for c in source):
                raise GradlabError(f"{source} is no file here. Name one with a sentence on each line, or give a text.")
            lines, names = [source], None
        else:
            lines = read_lines(path)
            if path.suffix.lower() == ".tsv":
                lines = self._sources(path, lines)
            names = [f"{printable(path.name)}:{number}" for number in range(1, len(lines) + 1)]
        if not lines:
            raise GradlabError(f"{printable(source, 200)} has no text in it. Write one on each line.")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise GradlabError(f"{printable(source, 200)}, line {number}: the text is empty. Leave the line out.")
        return Reading(as_array([line.strip() for line in lines]), names)

    def _sources(self, path: Path, lines: Sequence[str]) -> list[str]:
        rows = [line.split("\t") for line in lines]
        if self.column is None:
            return [row[0] for row in rows]
        if self.column not in rows[0]:
            raise GradlabError(f"{path} has no column {self.column!r} in its first line.")
        place = rows[0].index(self.column)
        return [row[place] for row in rows[1:]]


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; the last may end with the file."""
    text = Document.at(path).read()
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _is_file(source: str) -> bool:
    try:
        return os.path.isfile(source)
    except (OSError, ValueError):  # of a text that no file could be called by
        return False
