"""New texts for a classifier."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gradlab.data.pictures.reader import files_below
from gradlab.data.reading import Reading, refuse_columns
from gradlab.data.tables.records import SEPARATORS, Records
from gradlab.data.text.documents import Document
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError, unknown
from gradlab.printable import printable


@dataclass(frozen=True, kw_only=True)
class TextReader:
    """Reads texts from a column of a CSV file, where training had one, a text file, a folder, or the command line."""

    column: str | None = None
    separator: str = ","
    encoding: str = "utf-8"
    suffixes: list[str] = field(default_factory=lambda: [".txt"])
    target: str | None = None

    kind = "texts"

    def describe(self) -> dict[str, Any]:
        """As data.json holds it."""
        return {"kind": self.kind, **asdict(self)}

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        is_table = Path(source).suffix.lower() in (".csv", ".tsv") and _exists(source)
        if not is_table:
            refuse_columns(source, beside)
        if any(character.isspace() for character in source) and not _exists(source):
            return Reading(as_array([source]))
        path = Path(source)
        if path.is_dir():
            files = [file for file in files_below(path) if file.name.endswith(tuple(self.suffixes))]
            if not files:
                raise GradlabError(f"{source} has no file in it that ends in {' or '.join(self.suffixes)}.")
            names = [printable(file.relative_to(path)) for file in files]
            return Reading(as_array([_content(Document.at(file)) for file in files]), names)
        if not path.is_file():
            raise GradlabError(
                f"{source} is neither a file nor a folder. A text itself is given in quotes, with a blank in it."
            )
        if is_table:
            return self._from_table(path, beside)
        return Reading(as_array([_content(Document.at(path))]), [printable(path.name)])

    def _from_table(self, path: Path, beside: Sequence[str]) -> Reading:
        if self.column is None:
            raise GradlabError(
                f"{path} is a table, but this run was not trained on one. Give a text file, or a folder of them."
            )
        # Another separator than the one of training is welcome, unless that one could not be guessed.
        records = Records(path, "auto" if self.separator in SEPARATORS else self.separator, self.encoding)
        columns: dict[str, list[str]] = {name: [] for name in (self.column, *beside)}
        for name in columns:
            if name not in records.names:
                raise unknown(f"column in {path},", name, records.names)
        places: list[str] = []
        for block in records:
            places += (f"{path}, {block.where(row)}" for row in range(len(block)))
            read = block.texts([records.names.index(name) for name in columns])
            for column, texts in zip(columns.values(), read, strict=True):
                column += texts
        if not places:
            raise GradlabError(f"{path} has a line of column names, but no row below it.")
        documents = [Document.of(*each) for each in zip(places, columns[self.column], strict=True)]
        return Reading(as_array([_content(d) for d in documents]), None, {n: columns[n] for n in beside}, places)


def _content(document: Document) -> str:
    text = document.read().strip()
    if not text:
        raise GradlabError(f"{document.name}: the text is empty. It cannot be classified.")
    return text


def _exists(source: str) -> bool:
    try:
        return Path(source).exists()
    except OSError:  # most texts are longer than any name of a file
        return False
