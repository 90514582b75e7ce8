"""MNIST and its look-alikes, in the IDX format of their authors."""

import gzip
import math
import zlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import data_folder, how_to_get
from gradlab.data.dataset import sources
from gradlab.data.memory import check_memory
from gradlab.data.raw import Raw
from gradlab.data.reading import ArrayReader
from gradlab.errors import GradlabError, one_line

Folder = Annotated[
    str | None, "folder with the four IDX files, gzipped or not; default the cache of `gradlab data fetch`"
]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_BLOCK = 2**20  # bytes that are read at once
_CLOTHES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]


def read_idx(path: Path) -> npt.NDArray[Any]:
    """An IDX file: two zero bytes, a type code, the number of axes, the length of each (big-endian), the values."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            start = file.read(4)
            if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
                raise GradlabError(f"{path} is not an IDX file: its first bytes are {start.hex(' ')}.")
            kind, header = np.dtype(_TYPES[start[2]]), file.read(4 * start[3])
            if len(header) < 4 * start[3]:
                raise GradlabError(f"{path} is truncated or damaged: it ends within its header.")
            shape = tuple(np.frombuffer(header, ">u4").tolist())
            size = kind.itemsize * math.prod(shape)
            check_memory(2 * size, f"{path}, of shape {shape} as its header says,", "Is it damaged?")
            data = bytearray()
            while block := file.read(min(_BLOCK, size + 1 - len(data))):  # no more than it should have, nor all at once
                data += block
    except (OSError, EOFError, zlib.error) as error:
        raise GradlabError(f"{path} cannot be read: {one_line(error)}.") from None
    if len(data) != size:
        follow = f"{len(data):,}" if len(data) < size else f"more than {size:,}"
        raise GradlabError(f"{path} is truncated or damaged: its header says shape {shape}, but {follow} bytes follow.")
    return np.frombuffer(data, kind).reshape(shape)


def _read(source: str, path: str | None, classes: list[str]) -> Raw:
    folder = data_folder(source, path)

    def find(stem: str) -> Path:
        for name in (stem, f"{stem}.gz", stem.replace("-idx", ".idx"), f"{stem.replace('-idx', '.idx')}.gz"):
            if (folder / name).is_file():
                return folder / name
        raise GradlabError(f"{folder} has no file {stem} or {stem}.gz. {how_to_get(source)}")

    if not folder.is_dir():
        raise GradlabError(f"{folder} is not a folder. {how_to_get(source)}")
    images, labels = (
        [read_idx(find(f"{part}-{what}")) for part in ("train", "t10k")]
        for what in ("images-idx3-ubyte", "labels-idx1-ubyte")
    )
    for x, y in zip(images, labels, strict=True):
        if x.ndim != 3 or 0 in x.shape or x.shape[1:] != images[0].shape[1:] or y.shape != x.shape[:1]:
            raise GradlabError(f"{folder}: images of shape {x.shape} and labels of shape {y.shape} do not go together.")
    values = np.concatenate(labels)  # the format has real numbers too, NaN among them
    bad = values[~np.isin(values, np.arange(len(classes)))]
    if len(bad):
        raise GradlabError(f"{folder} has a label {bad[0]:g}, but there are {len(classes)} classes (from 0).")
    targets = values.astype(np.int64)
    inputs = np.concatenate(images)[:, None]
    # Bytes tell what white is; of other numbers nobody knows.
    reader = ArrayReader(inputs.shape[1:]) if inputs.dtype == np.uint8 else None
    return Raw(inputs=inputs, targets=targets, classes=classes, test_from=len(images[0]), reader=reader)


@sources.register("mnist")
def mnist(seed: int, *, path: Folder = None) -> Raw:
    """70,000 handwritten digits, 28×28 pixels, ten classes; the last 10,000 are the test split."""
    return _read("mnist", path, [str(d) for d in range(10)])


@sources.register("fashion-mnist")
def fashion_mnist(seed: int, *, path: Folder = None) -> Raw:
    """70,000 pictures of clothes, 28×28 pixels, ten classes; the last 10,000 are the test split."""
    return _read("fashion-mnist", path, _CLOTHES)
