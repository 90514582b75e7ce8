"""New examples that come with their targets: what a trained model is evaluated on beside its own splits."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.arrays import read_targets
from gradlab.data.frame_rows import read_frame
from gradlab.data.raw import check_finite
from gradlab.data.reading import ArrayReader, Reader, Reading
from gradlab.data.tables.columns import MISSING, Column, parse_number
from gradlab.data.tables.reader import TableReader
from gradlab.errors import GradlabError, notice
from gradlab.printable import listed
from gradlab.wording import counted

Where = Callable[[int], str]
Labelled = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Raw inputs, and numbers of classes or the numbers to be predicted."""

_FORMS = {
    "array": "an .npz file with arrays x and y",
    "pictures": "a folder with a folder of pictures for each class",
    "texts": "a folder with a folder of texts for each class",
}


def read_labelled(reader: Reader, source: str, classes: list[str] | None, frame: Any = None) -> Labelled:
    """Inputs as `predict` reads them, beside the targets that a run with these classes, or none, learned from."""
    path, kind = Path(source), str(reader.describe()["kind"])
    if path.is_dir() and kind in ("pictures", "texts"):
        return _from_folders(reader, path, classes)
    if isinstance(reader, TableReader) and reader.target is not None and frame is not None:
        return _split_targets(reader, read_frame(reader, frame, [reader.target]), "The frame", reader.target, classes)
    if reader.target is not None:
        return _split_targets(reader, reader.read(source, [reader.target]), source, reader.target, classes)
    if isinstance(reader, ArrayReader) and path.suffix.lower() == ".npz":
        values = reader.read(source).values
        targets = read_targets(path)
        if len(targets) != len(values):
            raise GradlabError(f"{source} has {len(values)} inputs but {len(targets)} targets.")
        return values, _encoded(targets, classes, lambda row: f"{source}, row {row}")
    form = _FORMS.get(kind, "a file like the one it was trained on")
    raise GradlabError(f"{source} has no targets that this run knows of. It is evaluated on {form}.")


def _from_folders(reader: Reader, folder: Path, classes: list[str] | None) -> Labelled:
    """The class of a file is the first folder on the way to it."""
    reading = reader.read(str(folder))
    names = reading.names or []
    for name in names:
        if len(Path(name).parts) < 2:
            raise GradlabError(f"{folder / name} is in no folder of a class. {folder} needs a folder for each class.")
    labels = np.array([Path(name).parts[0] for name in names], dtype=object)
    return reading.values, _encoded(labels, classes, lambda row: str(folder / names[row]))


def _split_targets(reader: Reader, reading: Reading, source: str, target: str, classes: list[str] | None) -> Labelled:
    """Inputs and targets of a table, whose targets were read as texts."""
    texts = np.array(reading.beside[target], dtype=object)
    known = np.flatnonzero([text not in MISSING for text in texts])
    if len(known) == 0:
        raise GradlabError(f"{source}: the target {target!r} is missing in every row.")
    if len(known) < len(texts):
        notice(f"{source}: left out {counted(len(texts) - len(known), 'row')} in which {target!r} is missing.")

    def where(row: int) -> str:
        return f"{reading.places[known[row]]}, column {target!r}"

    columns = reader.columns if isinstance(reader, TableReader) else []
    column = next((c for c in columns if c.name == target), Column(name=target, kind="category"))
    values: npt.NDArray[Any] = texts[known]
    if classes is None or column.kind != "category":
        values = replace(column, kind="number").encode(values.tolist(), lambda row: reading.places[known[row]])
    return reading.values[known], _encoded(values, classes, where)


def _encoded(targets: npt.NDArray[Any], classes: list[str] | None, where: Where) -> npt.NDArray[Any]:
    """Labels, or numbers, as numbers of classes; or numbers as they are."""
    is_text = targets.dtype.kind not in "biuf"
    if classes is None:
        if is_text:
            raise GradlabError(f"{where(0)}: {targets[0]!r} is a class, but this run predicts numbers.")
        check_finite(targets, ["target"])
        return targets.astype(np.float64)
    if targets.size != len(targets):
        raise GradlabError(f"There must be one class for each example, got targets of shape {targets.shape}.")
    targets = targets.ravel()
    codes: dict[Any, int] = {name: code for code, name in enumerate(classes)}
    if not is_text:  # 1 and 1.0 are the same class
        codes = {float(name): code for name, code in codes.items() if parse_number(name) is not None}
    for row, value in enumerate(targets.tolist()):
        if value not in codes:
            raise GradlabError(f"{where(row)}: {value!r} is none of the classes of this run: {listed(classes)}.")
    return np.array([codes[value] for value in targets.tolist()], dtype=np.int64)
