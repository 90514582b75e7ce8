"""Arrays that the user has saved with NumPy."""

import math
import os
import zipfile
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import cache_folder, changed_guard, converted, file_key
from gradlab.data.dataset import sources
from gradlab.data.raw import Raw
from gradlab.data.reading import check_array, read_npz
from gradlab.errors import GradlabError, notice

_SMALL = 2**26  # bytes of a file that is simply read
_BLOCK = 2**24  # bytes of a larger one that are copied at once


@sources.register("npz")
def npz(seed: int, *, path: Annotated[str, "file with arrays `x` (one row per example) and `y`: --data FILE"]) -> Raw:
    """An .npz file with inputs `x` and targets `y`: integers or text are classes, other numbers a quantity."""
    file = Path(path)
    if file.is_file() and file.stat().st_size > _SMALL:
        x, key = _mapped(file)
        y = read_npz(file, ["y"])["y"]
    else:
        arrays = read_npz(file, ("x", "y"))
        x, y, key = arrays["x"], arrays["y"], ""
    x = x[:, None] if x.ndim == 1 else x
    names = [f"x{i}" for i in range(x.shape[1])] if x.ndim == 2 else []
    if y.dtype.kind == "f":
        return Raw(inputs=x, targets=y, features=names, key=key)
    if y.size != len(y):
        raise GradlabError(f"{path}: array 'y' of shape {y.shape} must hold one class for each example.")
    labels = np.char.decode(y.ravel(), "utf-8") if y.dtype.kind == "S" else y.ravel()
    classes, indices = np.unique(labels, return_inverse=True)
    return Raw(inputs=x, targets=indices.astype(np.int64), features=names, classes=[str(c) for c in classes], key=key)


def _mapped(path: Path) -> tuple[npt.NDArray[Any], str]:
    """The array `x` of a large file: unpacked once into the cache, and never in memory whole; and its key."""
    with changed_guard(path) as check:
        key = file_key(path)
        folder = cache_folder("arrays", key)

        def unpack(temporary: Path) -> None:
            notice(f"Unpacking {path} ({path.stat().st_size / 1e6:,.0f} MB), once: it will be in {folder}.")
            _unpack(path, "x", temporary / "x.npy")
            check()

        converted(folder, unpack, ["x.npy"])
    return np.load(folder / "x.npy", mmap_mode="r", allow_pickle=False), key


def _unpack(path: Path, name: str, to: Path) -> None:
    """One array of an .npz file, copied block by block."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as packed, to.open("wb") as file:
            while block := packed.read(_BLOCK):
                file.write(block)
        with to.open("rb") as file:
            _check_header(file, path, name)
    except KeyError:
        raise GradlabError(f"{path} has no array {name!r}.") from None
    except (GradlabError, OSError):
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways, from zlib to struct
        raise GradlabError(f"{path} cannot be read as NumPy arrays without pickle: {error}") from None


def _check_header(file: IO[bytes], path: Path, name: str) -> None:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    start = file.tell()
    check_array(path, name, shape, dtype)
    if file.seek(0, os.SEEK_END) - start != math.prod(shape) * dtype.itemsize:
        raise GradlabError(f"{path}: array {name!r} is damaged: it is not as long as its header says.")
    if fortran:
        raise GradlabError(f"{path}: array {name!r} is stored column by column. Save it with np.ascontiguousarray.")
