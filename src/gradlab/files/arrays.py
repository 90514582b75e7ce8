"""Arrays by name in an .npz file, one of them written part by part."""

import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def save_parts(
    path: Path, name: str, shape: tuple[int, ...], parts: Iterable[Array], after: Callable[[], Mapping[str, Array]]
) -> None:
    """Write an array of single precision whose rows come part by part, and `after` them further ones.

    NumPy's own `savez` needs the whole of it in memory.
    """
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            _header(file, shape, np.dtype(np.float32))
            for part in parts:
                file.write(part.astype(np.float32).tobytes())
        for other, array in after().items():
            with archive.open(f"{other}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _header(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_2_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
