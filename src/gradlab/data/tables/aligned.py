"""Several CSV files of one table: the same columns, in whatever order."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gradlab.data.tables.blocks import Block, Texts
from gradlab.data.tables.records import Records
from gradlab.errors import GradlabError


class Aligned:
    """The records of a file with its columns in the order of another's; errors name the file."""

    def __init__(self, records: Records, first: Records):
        for name in records.names:
            if name not in first.names:
                raise GradlabError(f"{records.path} has a column {name!r}, which {first.path} has not. Remove it.")
        for name in first.names:
            if name not in records.names:
                raise GradlabError(f"{records.path} has no column {name!r}, which {first.path} has. It must be there.")
        self.records, self.path = records, records.path
        self.place = [records.names.index(name) for name in first.names]

    @property
    def position(self) -> int:
        return self.records.position

    def __iter__(self) -> Iterator[Block]:
        for block in self.records:
            yield _AlignedBlock(block, self.place, str(self.path))


class _AlignedBlock(Block):
    def __init__(self, block: Block, place: Sequence[int], file: str):
        self.block, self.place, self.file = block, place, file

    def __len__(self) -> int:
        return len(self.block)

    def where(self, row: int) -> str:
        return f"{self.block.where(row)} of {self.file}"

    def texts(self, columns: Sequence[int]) -> list[Texts]:
        return self.block.texts([self.place[column] for column in columns])

    def numbers(self, columns: Sequence[int], decimal: str) -> tuple[npt.NDArray[np.float64], list[bool]]:
        return self.block.numbers([self.place[column] for column in columns], decimal)
