"""Files that hold raw inputs. Nothing here ever unpickles."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import isfile
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import read_npy, read_npz
from gradlab.errors import GradlabError
from gradlab.files import read_bytes
from gradlab.printable import printable

_PICTURES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff"}
_WHITE = 255  # of a picture file


@dataclass(frozen=True)
class Reading:
    """Raw inputs, one row per example, and what the user calls each: its file, or else its number.

    Of a table, `beside` has the columns that were asked for beside the inputs, as texts, and `places` says where each
    row stands. `notes` are what the user should know of how they were read, `named` what the names are of.
    """

    values: npt.NDArray[Any]
    names: list[str] | None = None
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    places: Sequence[str] = ()
    notes: Sequence[str] = ()
    named: str = "file"


@runtime_checkable
class Reader(Protocol):
    """How what a user names becomes raw inputs: the same for training and for prediction."""

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        """What a user names; `beside` are columns of a table that are handed on with the inputs."""

    @property
    def target(self) -> str | None:
        """What the target is called, where it is a column."""

    def describe(self) -> dict[str, Any]:
        """As data.json holds it: its kind and what it needs to be made again."""


@dataclass(frozen=True)
class ArrayReader:
    """Numbers of a known shape, without names. Where they are pictures, files of those are brought to that shape."""

    shape: tuple[int, ...]
    white: float = _WHITE
    """What white is in the data."""

    kind = "array"
    target = None

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        refuse_columns(source, beside)
        if Path(source).suffix.lower() in _PICTURES and isfile(source):
            return self._read_picture(source)
        return Reading(read_inputs(source, self.shape))

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "shape": list(self.shape), "white": self.white}

    def _read_picture(self, source: str) -> Reading:
        from gradlab.data.pictures.reader import PictureReader

        if len(self.shape) != 3 or self.shape[0] not in (1, 3):
            raise GradlabError(f"{source} is a picture, but the model takes inputs of shape {self.shape}.")
        channels, height, width = self.shape
        reader = PictureReader(height=height, width=width, channels=1 if channels == 1 else 3, resize="crop")
        reading = reader.read(source)
        if self.white == _WHITE:
            return reading
        scaled = f"White, {_WHITE} in the file, is {self.white:g} in the data of the run."
        return replace(reading, values=reading.values * (self.white / _WHITE), notes=[*reading.notes, scaled])


def refuse_columns(source: str, beside: Sequence[str]) -> None:
    """Of what has no named columns, none can be handed on."""
    if beside:
        raise GradlabError(f"There is no column {printable(beside[0])!r}: {printable(source, 200)} is no table.")


def read_inputs(source: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Raw inputs, one row per example, from what a user names: a file, or the numbers themselves.

    Files: .npy, .npz (array `x`), .csv (numbers, an optional header line) or .json (nested lists).
    A single example without the leading axis is taken as one row.

    >>> read_inputs("5.1,3.5,1.4,0.2", (4,))
    array([[5.1, 3.5, 1.4, 0.2]])
    """
    numbers = _numbers(source)
    if numbers is not None:
        values = np.array(numbers)
    elif isfile(source):
        values = _read_file(Path(source))
    else:
        raise GradlabError(
            f"{source} is neither a file nor numbers with commas between them. "
            "Give a .npy, .npz, .csv or .json file, a picture, or numbers such as 5.1,3.5,1.4,0.2."
        )
    if values.dtype.kind not in "biuf" or values.size == 0:
        raise GradlabError(f"{source} does not hold numbers.")
    if values.shape in (shape, (math.prod(shape),)):
        values = values[None]
    if values.ndim == 2 and len(shape) > 1 and values.shape[1] == math.prod(shape):
        values = values.reshape(len(values), *shape)  # pictures as rows of numbers
    if values.shape[1:] != shape:
        raise GradlabError(
            f"{source} has shape {values.shape}, but the model takes inputs of shape {shape}, "
            "alone or with a leading axis for many."
        )
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(t) for t in text.split(",")]
    except ValueError:
        return None


def _read_file(path: Path) -> npt.NDArray[Any]:
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return read_npz(path, ["x"])["x"]
    try:
        if suffix == ".npy":
            return read_npy(path)
        if suffix == ".json":
            return np.array(json.loads(read_bytes(path)), dtype=np.float64)
        if suffix == ".csv":
            return _read_table(path)
    except GradlabError:
        raise
    except (ValueError, TypeError, OSError, EOFError, RecursionError, OverflowError, MemoryError, csv.Error) as error:
        raise GradlabError(f"{path} cannot be read: {error}") from None
    raise GradlabError(
        f"{path}: files of type {suffix or 'none'} are not read. Use .npy, .npz, .csv, .json or a picture."
    )


def _read_table(path: Path) -> npt.NDArray[Any]:
    with path.open(newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    if lines and _numbers(",".join(lines[0])) is None:
        lines = lines[1:]
    for number, line in enumerate(lines):
        if _numbers(",".join(line)) is None or len(line) != len(lines[0]):
            raise GradlabError(f"{path}, row {number}: expected {len(lines[0])} numbers, got {','.join(line)[:60]!r}.")
    return np.array(lines, dtype=np.float64)
