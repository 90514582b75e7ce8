"""An .npy file that is written row by row, however many there will be."""

from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt


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
