"""Arrays that the user has saved with NumPy."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import read_npz, size_in_npz, unpack_npz
from gradlab.data.cache import cache_folder, changed_guard, converted, file_key
from gradlab.data.dataset import sources
from gradlab.data.raw import Raw
from gradlab.data.reading import ArrayReader
from gradlab.errors import GradlabError, notice

_SMALL = 2**26  # bytes of an array that is simply read


@sources.register("npz")
def npz(seed: int, *, path: Annotated[str, "file with arrays `x` (one row per example) and `y`: --data FILE"]) -> Raw:
    """An .npz file with inputs `x` and targets `y`: integers or text are classes, other numbers a quantity."""
    file = Path(path)
    if size_in_npz(file, "x") > _SMALL:
        x, key = _mapped(file)
    else:
        x, key = read_npz(file, ["x"])["x"], ""
    y = read_targets(file)
    x = x[:, None] if x.ndim == 1 else x
    names = [f"x{i}" for i in range(x.shape[1])] if x.ndim == 2 else []
    reader = _picture_reader(x)
    if y.dtype.kind == "f":
        return Raw(inputs=x, targets=y, features=names, reader=reader, key=key)
    if y.size != len(y):
        raise GradlabError(f"{path}: array 'y' of shape {y.shape} must hold one class for each example.")
    classes, indices = np.unique(y.ravel(), return_inverse=True)
    names_of_classes = [str(c) for c in classes]
    targets = indices.astype(np.int64)
    return Raw(inputs=x, targets=targets, features=names, classes=names_of_classes, reader=reader, key=key)


def _picture_reader(x: npt.NDArray[Any]) -> ArrayReader | None:
    """Of pictures whose numbers are not bytes, the largest is white."""
    if x.ndim != 4 or x.dtype.kind != "f" or not (x.min() >= 0 and 0 < x.max() < np.inf):
        return None
    return ArrayReader(x.shape[1:], float(x.max()))


def read_targets(path: Path) -> npt.NDArray[Any]:
    """The array `y` of a file: numbers, or texts."""
    y = read_npz(path, ["y"], texts=["y"])["y"]
    return np.char.decode(y, "utf-8", "backslashreplace") if y.dtype.kind == "S" else y


def _mapped(path: Path) -> tuple[npt.NDArray[Any], str]:
    """The array `x` of a large file: unpacked once into the cache, and never in memory whole; and its key."""
    with changed_guard(path) as check:
        key = file_key(path)
        folder = cache_folder("arrays", key)

        def unpack(temporary: Path) -> None:
            notice(f"Unpacking {path} ({path.stat().st_size / 1e6:,.0f} MB), once: it will be in {folder}.")
            unpack_npz(path, "x", temporary / "x.npy")
            check()

        converted(folder, unpack, ["x.npy"])
    return np.load(folder / "x.npy", mmap_mode="r", allow_pickle=False), key
