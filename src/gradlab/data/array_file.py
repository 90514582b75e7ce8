"""Arrays in files of NumPy: written row by row, and read without trust. Nothing here ever unpickles."""

import errno
import math
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.memory import check_memory
from gradlab.errors import GradlabError, one_line
from gradlab.printable import listed, printable

Array = npt.NDArray[Any]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BLOCK = 2**24  # bytes that are copied at once


class ArrayFile:
    """Rows of one shape and type. A disk that is full fails the write, where a mapped file would end the process."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()):
        self.dtype, self.shape, self.rows = np.dtype(dtype), shape, 0
        self.file = path.open("wb")
        self._write_header()

    def write(self, rows: npt.ArrayLike) -> None:
        values = np.ascontiguousarray(rows, dtype=self.dtype)
        assert values.shape[1:] == self.shape
        self.file.write(values.data)
        self.rows += len(values)

    def _write_header(self) -> None:
        # NumPy leaves room for as long an array as there can be, so that the header can be written again at the end.
        described = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.rows, *self.shape)}
        np.lib.format.write_array_header_1_0(self.file, described)

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self.file:
            if error is None:
                self.file.seek(0)
                self._write_header()


def check_array(what: str, shape: tuple[int, ...], dtype: np.dtype[Any], texts: bool = False) -> None:
    """Refuse an array that holds nothing, or something else than numbers (or texts, where these may be)."""
    if math.prod(shape) == 0 or not shape:
        raise GradlabError(f"{what} of shape {shape} holds no examples.")
    if dtype.kind not in ("biufSU" if texts else "biuf"):
        raise GradlabError(f"{what} of type {printable(dtype, 60)} does not hold numbers.")


def native(values: Array) -> Array:
    """Numbers as torch can take them: in this machine's order of bytes, of at most 64 bits, and one after the other."""
    dtype = np.dtype(np.float64) if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # what becomes infinite is refused where infinity is
        return np.ascontiguousarray(values, dtype=dtype)


def read_npy(path: Path) -> Array:
    """An array of numbers."""
    with _refusing(path):
        return _read(lambda: path.open("rb"), path.stat().st_size, str(path))


def read_npz(path: Path, names: Iterable[str], texts: Iterable[str] = ()) -> dict[str, Array]:
    """The named arrays of an .npz file, of numbers, or of texts where that may be."""
    with _archive(path) as archive:
        return {
            name: _read(
                lambda name=name: archive.open(_member(archive, path, name)),  # type: ignore[misc]
                _member(archive, path, name).file_size,
                f"{path}: array {name!r}",
                name in texts,
            )
            for name in names
        }


def size_in_npz(path: Path, name: str) -> int:
    """Bytes of an array, unpacked."""
    with _archive(path) as archive:
        return _member(archive, path, name).file_size


def unpack_npz(path: Path, name: str, to: Path) -> None:
    """One array of an .npz file as an .npy file, copied block by block."""
    with _archive(path) as archive:
        member = _member(archive, path, name)
        with archive.open(member) as packed:
            if _check_header(packed, member.file_size, f"{path}: array {name!r}"):
                raise GradlabError(
                    f"{path}: array {name!r} is stored column by column. Save it with np.ascontiguousarray."
                )
        with archive.open(member) as packed, to.open("wb") as file:
            shutil.copyfileobj(packed, file, _BLOCK)


def _read(open_file: Callable[[], IO[bytes]], size: int, what: str, texts: bool = False) -> Array:
    with open_file() as file:
        _check_header(file, size, what, texts)
    check_memory(size, what, "Give fewer examples at a time.")
    with open_file() as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _check_header(file: IO[bytes] | BufferedIOBase, size: int, what: str, texts: bool = False) -> bool:
    """Whether an array of so many bytes is stored column by column; refused where it is not what its header says."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    check_array(what, shape, dtype, texts)
    if size - file.tell() != math.prod(shape) * dtype.itemsize:
        raise GradlabError(f"{what} is damaged: it is not as long as its header says.")
    return bool(by_column)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    if not path.is_file():
        raise GradlabError(f"{path} is not a file.")
    with _refusing(path), zipfile.ZipFile(path) as archive:
        yield archive


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> zipfile.ZipInfo:
    if f"{name}.npy" not in archive.namelist():
        there = [member.removesuffix(".npy") for member in archive.namelist() if member.endswith(".npy")]
        raise GradlabError(f"{path} has no array {name!r}; it has {listed(there)}.")
    return archive.getinfo(f"{name}.npy")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except GradlabError:
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways, from zlib to struct
        if isinstance(error, OSError) and error.errno in _FULL:  # of the file that it is unpacked to
            raise
        reason = one_line(error)
        raise GradlabError(f"{path} cannot be read as NumPy arrays without pickle: {reason}") from None
