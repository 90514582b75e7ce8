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
from gradlab.data.raw import Raw
from gradlab.errors import GradlabError

Folder = Annotated[
    str | None, "folder with the four IDX files, gzipped or not; default the cache of `gradlab data fetch`"
]

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CLOTHES = ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]


def read_idx(path: Path) -> npt.NDArray[Any]:
    """An IDX file: two zero bytes, a type code, the number of axes, the length of each (big-endian), the values."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise GradlabError(f"{path} cannot be read: {error}.") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise GradlabError(f"{path} is not an IDX file: its first bytes are {data[:4].hex(' ')}.")
    kind, start = np.dtype(_TYPES[data[2]]), 4 + 4 * data[3]
    if len(data) < start:
        raise GradlabError(f"{path} is truncated or damaged: it ends within its header.")
    shape = tuple(np.frombuffer(data[4:start], ">u4").tolist())
    if len(data) - start != kind.itemsize * math.prod(shape):
        raise GradlabError(
            f"{path} is truncated or damaged: its header says shape {shape}, but {len(data) - start} bytes follow."
        )
    return np.frombuffer(data, kind, offset=start).reshape(shape)


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
    targets = np.concatenate(labels).astype(np.int64)
    if targets.max() >= len(classes):
        raise GradlabError(f"{folder} has a label {targets.max()}, but there are {len(classes)} classes (from 0).")
    return Raw(inputs=np.concatenate(images)[:, None], targets=targets, classes=classes, test_from=len(images[0]))


@sources.register("mnist")
def mnist(seed: int, *, path: Folder = None) -> Raw:
    """70,000 handwritten digits, 28×28 pixels, ten classes; the last 10,000 are the test split."""
    return _read("mnist", path, [str(d) for d in range(10)])


@sources.register("fashion-mnist")
def fashion_mnist(seed: int, *, path: Folder = None) -> Raw:
    """70,000 pictures of clothes, 28×28 pixels, ten classes; the last 10,000 are the test split."""
    return _read("fashion-mnist", path, _CLOTHES)
