"""All rows of a CSV file, or of the files of one name in many folders: a graph in each."""

from collections.abc import Sequence
from pathlib import Path

from gradlab.data.series.reader import whole
from gradlab.data.tables.blocks import Block
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey
from gradlab.errors import GradlabError, unknown
from gradlab.printable import listed

FOLDER = "folder"
"""The column that says of which graph a row is, where each graph has a folder of its own."""


class Listing(Block):
    """Rows by the names of their columns; a file without rows is an empty one."""

    def __init__(self, path: Path, names: list[str], columns: Sequence[Sequence[str]], lines: Sequence[int]):
        super().__init__(columns, lines)
        self.path, self.names, self.decimal = path, names, "."
        self.files: Sequence[str] = ()  # that of each row, where there are several

    @classmethod
    def of_file(cls, path: Path, separator: str, encoding: str) -> "Listing":
        records = Records(path, separator, encoding)
        empty = not any(len(block) for block in records)
        block = Block([[] for _ in records.names], []) if empty else whole(records, records.names)
        listing = cls(path, records.names, block.columns, block.lines)
        listing.decimal = records.decimal
        return listing

    @classmethod
    def of_folders(cls, folder: Path, files: Sequence[Path], column: str, separator: str, encoding: str) -> "Listing":
        """The files of a folder's folders, with a column more that has the name of the folder."""
        parts = [cls.of_file(path, separator, encoding) for path in files]
        names = parts[0].names
        for part in parts:
            if column in part.names:
                raise GradlabError(
                    f"{part.path} has a column {column!r}, but its folder says which graph it is. Remove the column."
                )
            if set(part.names) != set(names):
                raise GradlabError(
                    f"{part.path} has the columns {listed(part.names)}, but {parts[0].path} has {listed(names)}. "
                    "All graphs of a folder have the same columns."
                )
        columns = [[text for part in parts for text in part.column(name)] for name in names]
        graphs = [part.path.parent.name for part in parts for _ in part.lines]
        listing = cls(folder, [column, *names], [graphs, *columns], [line for part in parts for line in part.lines])
        listing.decimal = parts[0].decimal
        listing.files = [f"{part.path.parent.name}/{part.path.name}, " for part in parts for _ in part.lines]
        return listing

    def where(self, row: int) -> str:
        return f"{self.files[row] if self.files else ''}line {self.lines[row]}"

    def place(self, row: int) -> str:
        return f"{self.path}, {self.where(row)}"

    def check(self, names: Sequence[str]) -> None:
        """Refuse what lacks one of these columns."""
        for name in names:
            if name not in self.names:
                raise unknown(f"column in {self.path},", name, self.names)

    def check_rows(self) -> None:
        if not len(self):
            raise GradlabError(f"{self.path} has a line of column names, but no row below it.")

    def column(self, name: str) -> Sequence[str]:
        return self.columns[self.names.index(name)]

    def survey(self, name: str, category: bool = False) -> Survey:
        """What a column holds; of a category, texts whatever they look like."""
        index = self.names.index(name)
        (numbers,), (good,) = self.numbers([index], self.decimal)
        if good and not category:
            survey = Survey(name, self.decimal)
            survey.add_numbers(numbers, self, index)
            return survey
        survey = Survey(name, self.decimal, True, {}, []) if category else Survey(name, self.decimal, True)
        survey.add_texts(self.columns[index], self, index)
        return survey
