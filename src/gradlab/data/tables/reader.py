"""New rows of a table that a model was trained on."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.pictures.reader import is_picture
from gradlab.data.reading import Reading, refuse_columns
from gradlab.data.tables.columns import UNKNOWN_CODE, Column, Where
from gradlab.data.tables.records import SEPARATORS, Records
from gradlab.errors import GradlabError, notice, one_line, unknown
from gradlab.files import read_bytes
from gradlab.printable import listed, printable
from gradlab.wording import counted


@dataclass(frozen=True, kw_only=True)
class TableReader:
    """Reads rows as the training file was read: by the names of its columns, whatever their order.

    Columns that training had but did not use (the target, identifiers) may be there or not.
    """

    columns: list[Column]
    separator: str = ","
    encoding: str = "utf-8"

    kind = "table"

    def describe(self) -> dict[str, Any]:
        """As data.json holds it."""
        return {"kind": self.kind, **asdict(self)}

    @property
    def inputs(self) -> list[Column]:
        return [c for c in self.columns if c.use == "input"]

    @property
    def target(self) -> str | None:
        return next((c.name for c in self.columns if c.use == "target"), None)

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        """From a CSV file, a JSON file with a list of objects, or the values of one row with commas between them."""
        path = Path(source)
        if isfile(path):  # False of a row longer than any name of a file
            return self._from_objects(path, beside) if path.suffix.lower() == ".json" else self._from_file(path, beside)
        if path.suffix.lower() in (".csv", ".json"):
            raise GradlabError(f"{source} is not a file.")
        refuse_columns(source, beside)
        values = next(csv.reader([source.replace("\n", " ")], skipinitialspace=True), [])
        if len(values) != len(self.inputs):
            raise GradlabError(
                f"{printable(source, 200)} is neither a file nor one row of {counted(len(self.inputs), 'value')}. "
                f"Give a CSV file, or the values in this order: {listed((c.name for c in self.inputs), 30)}."
            )
        row = [value.strip() for value in values]
        return Reading(self.encode({c.name: [v] for c, v in zip(self.inputs, row, strict=True)}, lambda i: source))

    def _from_file(self, path: Path, beside: Sequence[str]) -> Reading:
        if is_picture(path):
            raise GradlabError(f"{path} is a picture, but this run was trained on a table. Give a CSV file.")
        # Another separator than the one of training is welcome, unless that one could not be guessed.
        records = Records(path, "auto" if self.separator in SEPARATORS else self.separator, self.encoding)
        self.check_names(records.names, str(path), beside)
        place = {name: i for i, name in enumerate(records.names)}
        plain = [column for column in self.inputs if column.plain]
        plain = [column for column in plain if column.decimal == plain[0].decimal]
        parts, kept, places = [], {name: list[str]() for name in beside}, list[str]()
        for block in records:
            columns, good = block.numbers([place[c.name] for c in plain], plain[0].decimal if plain else ".")
            numbers = {c.name: values for c, values, all_good in zip(plain, columns, good, strict=True) if all_good}
            others = [c.name for c in self.inputs if c.name not in numbers]
            texts = dict(zip(others, block.texts([place[name] for name in others]), strict=True))
            for name, column in zip(beside, block.texts([place[name] for name in beside]), strict=True):
                kept[name] += column
            places += (f"{path}, {block.where(i)}" for i in range(len(block) if beside else 0))
            parts.append(self.encode(texts, lambda i, block=block: f"{path}, {block.where(i)}", numbers))  # type: ignore[misc]
        if not parts:
            raise GradlabError(f"{path} has a line of column names, but no row below it.")
        return Reading(np.concatenate(parts), None, kept, places)

    def _from_objects(self, path: Path, beside: Sequence[str]) -> Reading:
        try:
            rows = json.loads(read_bytes(path))
        except (ValueError, RecursionError) as error:
            raise GradlabError(f"{path} cannot be read: {one_line(error)}.") from None
        rows = [rows] if isinstance(rows, dict) else rows
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise GradlabError(f"{path} must hold an object, or a list of objects, with the columns as keys.")
        self.check_names(list(dict.fromkeys(name for row in rows for name in row)), str(path), beside)
        names = dict.fromkeys([*(c.name for c in self.inputs), *beside])
        texts = {name: ["" if (v := row.get(name)) is None else str(v) for row in rows] for name in names}
        places = [f"{path}, object {i}" for i in range(len(rows))]
        return Reading(self.encode(texts, places.__getitem__), None, {name: texts[name] for name in beside}, places)

    def check_names(self, names: Sequence[str], source: str, beside: Sequence[str] = ()) -> None:
        """Every input must be there, what is asked for beside them, and nothing else that training did not have."""
        known, there = {*(column.name for column in self.columns), *beside}, set(names)
        for name in beside:
            if name not in there:
                raise unknown(f"column in {source},", name, names)
        for name in names:
            if name not in known:
                raise GradlabError(
                    f"{source} has a column {name!r} that training did not have. Remove it. "
                    f"Training had: {listed((c.name for c in self.columns), 30)}."
                )
        for column in self.inputs:
            if column.name not in there:
                raise GradlabError(f"{source} has no column {column.name!r}, which training had. It must be there.")

    def encode(
        self,
        texts: Mapping[str, Sequence[str]],
        where: Where,
        numbers: Mapping[str, npt.NDArray[np.float64]] = {},
    ) -> npt.NDArray[np.float64]:
        """Columns of texts, but for those that are numbers already, as the numbers that the preprocessing takes."""
        encoded = []
        for column in self.inputs:
            values = numbers[column.name] if column.name in numbers else column.encode(texts[column.name], where)
            new = np.flatnonzero(values == UNKNOWN_CODE)
            if column.kind == "category" and len(new):
                text = texts[column.name][int(new[0])]
                notice(
                    f"{where(int(new[0]))}, column {column.name!r}: {text!r} did not occur in training "
                    f"({counted(len(new), 'row')} like it). It counts as none of the known categories."
                )
            encoded.append(values)
        return np.stack(encoded, axis=1)
