"""Arrays that the user has saved with NumPy."""

from pathlib import Path
from typing import Annotated

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.raw import Raw
from gradlab.data.reading import read_npz
from gradlab.errors import GradlabError


@sources.register("npz")
def npz(seed: int, *, path: Annotated[str, "file with arrays `x` (one row per example) and `y`"]) -> Raw:
    """An .npz file with inputs `x` and targets `y`: integers or text are classes, other numbers a quantity."""
    arrays = read_npz(Path(path), ("x", "y"))
    x, y = arrays["x"], arrays["y"]
    x = x[:, None] if x.ndim == 1 else x
    names = [f"x{i}" for i in range(x.shape[1])] if x.ndim == 2 else []
    x = x if x.dtype.kind == "f" or x.dtype == np.uint8 else x.astype(np.float64)
    if y.dtype.kind == "f":
        return Raw(inputs=x, targets=y, features=names)
    if y.size != len(y):
        raise GradlabError(f"{path}: array 'y' of shape {y.shape} must hold one class for each example.")
    labels = np.char.decode(y.ravel(), "utf-8") if y.dtype.kind == "S" else y.ravel()
    classes, indices = np.unique(labels, return_inverse=True)
    return Raw(inputs=x, targets=indices.astype(np.int64), features=names, classes=[str(c) for c in classes])
