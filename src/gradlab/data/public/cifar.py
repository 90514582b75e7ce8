"""CIFAR-10 and CIFAR-100, in the binary version of their authors. The other version is a pickle, and is not opened."""

import gzip
import tarfile
import zlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import data_folder, how_to_get
from gradlab.data.dataset import sources
from gradlab.data.memory import check_memory
from gradlab.data.raw import Raw
from gradlab.data.reading import ArrayReader
from gradlab.errors import GradlabError, one_line

Place = Annotated[str | None, "folder of the binary version, or its .tar.gz; default the cache of `gradlab data fetch`"]

_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32  # bytes: all of red, then green, then blue, each row by row


@dataclass(frozen=True)
class Layout:
    """The files of one data set. A record is a byte for each kind of label, in the order of `names`, and the pixels."""

    source: str
    folder: str
    archive: str
    pickles: Set[str]
    train: tuple[str, ...]
    test: str
    names: Mapping[str, int]
    """The file with the names of the classes and how many there are, for each kind of label."""

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train, self.test, *self.names)

    @property
    def advice(self) -> str:
        return f"{how_to_get(self.source)} The binary version is meant, {self.archive}."


CIFAR10 = Layout(
    source="cifar10",
    folder="cifar-10-batches-bin",
    archive="cifar-10-binary.tar.gz",
    pickles={"cifar-10-batches-py", "cifar-10-python.tar.gz"},
    train=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    test="test_batch.bin",
    names={"batches.meta.txt": 10},
)
CIFAR100 = Layout(
    source="cifar100",
    folder="cifar-100-binary",
    archive="cifar-100-binary.tar.gz",
    pickles={"cifar-100-python", "cifar-100-python.tar.gz"},
    train=("train.bin",),
    test="test.bin",
    names={"coarse_label_names.txt": 20, "fine_label_names.txt": 100},
)


@sources.register("cifar10")
def cifar10(seed: int, *, path: Place = None) -> Raw:
    """60,000 colour pictures, 32×32 pixels, ten classes; the last 10,000 are the test split."""
    return _read(CIFAR10, path, "batches.meta.txt")


@sources.register("cifar100")
def cifar100(
    seed: int,
    *,
    path: Place = None,
    labels: Annotated[Literal["fine", "coarse"], "the 100 classes, or the 20 groups that they fall into"] = "fine",
) -> Raw:
    """60,000 colour pictures, 32×32 pixels, 100 classes or 20; the last 10,000 are the test split."""
    return _read(CIFAR100, path, f"{labels}_label_names.txt")


def _read(layout: Layout, path: str | None, kind: str) -> Raw:
    place, contents = _contents(layout, data_folder(layout.source, path))
    column, count = list(layout.names).index(kind), layout.names[kind]
    classes = contents[kind].decode("utf-8", "replace").split()
    if len(classes) != count:
        raise GradlabError(f"{place / kind} has {len(classes)} names of classes, not {count}. {layout.advice}")
    parts = [_records(layout, contents[name], place / name) for name in (*layout.train, layout.test)]
    images = np.concatenate([records[:, len(layout.names) :] for records in parts])
    targets = np.concatenate([records[:, column] for records in parts]).astype(np.int64)
    return Raw(
        inputs=images.reshape(-1, *_SHAPE),
        targets=targets,
        classes=classes,
        test_from=len(images) - len(parts[-1]),
        reader=ArrayReader(_SHAPE),
    )


def _records(layout: Layout, content: bytes, path: Path) -> npt.NDArray[np.uint8]:
    """One row of bytes for each record, checked."""
    length = len(layout.names) + _PIXELS
    if not content or len(content) % length:
        raise GradlabError(
            f"{path} is truncated or damaged: it has {len(content):,} bytes, which is not a number of records "
            f"of {length:,} bytes. {layout.advice}"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, length)
    for column, count in enumerate(layout.names.values()):
        beyond = np.flatnonzero(records[:, column] >= count)
        if len(beyond):
            raise GradlabError(
                f"{path} is damaged: record {beyond[0]} (from 0) has label {records[beyond[0], column]}, "
                f"but there are {count} classes. {layout.advice}"
            )
    return records


def _contents(layout: Layout, path: Path) -> tuple[Path, dict[str, bytes]]:
    """Every file of the data set, and the folder or archive that they were found in."""
    if not path.exists():
        raise GradlabError(f"{path} does not exist. {layout.advice}")
    candidates = [path, path / layout.folder, path / layout.archive]
    place = next((c for c in candidates if c.is_file() or (c / layout.test).is_file()), None)
    if place in (None, path):
        for candidate in [path, *(path / name for name in sorted(layout.pickles))]:
            if candidate.name in layout.pickles and candidate.exists():
                raise _pickled(layout, candidate)
    if place is None:
        raise GradlabError(f"{path} has no file {layout.test}. {layout.advice}")
    try:
        contents = _unpack(layout, place) if place.is_file() else _read_folder(layout, place)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise GradlabError(f"{place} cannot be read: {one_line(error)}. {layout.advice}") from None
    for name in layout.files:
        if name not in contents:
            raise GradlabError(f"{place} has no file {name}. {layout.advice}")
    return place, contents


def _read_folder(layout: Layout, folder: Path) -> dict[str, bytes]:
    files = {name: folder / name for name in layout.files if (folder / name).is_file()}
    for file in files.values():
        check_memory(2 * file.stat().st_size, str(file), layout.advice)
    return {name: file.read_bytes() for name, file in files.items()}


def _unpack(layout: Layout, path: Path) -> dict[str, bytes]:
    """The wanted members of an archive, in one pass and in memory: nothing is extracted to the disk."""
    contents: dict[str, bytes] = {}
    with path.open("rb") if path.suffix == ".tar" else gzip.open(path) as plain:
        with tarfile.open(fileobj=plain, mode="r|") as archive:
            for member in archive:
                inside = PurePosixPath(member.name)
                if layout.pickles & {*inside.parts}:
                    raise _pickled(layout, path)
                if inside.name in layout.files and (file := archive.extractfile(member)):
                    check_memory(2 * member.size, f"{path}, {inside.name}", layout.advice)
                    contents[inside.name] = file.read()
        while plain.read(2**20):  # to the very end, where gzip has the checksum of it all
            pass
    return contents


def _pickled(layout: Layout, path: Path) -> GradlabError:
    return GradlabError(
        f"{path} is the Python version of {layout.source}: a pickle, which can run any program when it is opened, "
        f"so gradlab never does. {layout.advice}"
    )
