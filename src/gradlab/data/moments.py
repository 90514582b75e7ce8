"""Mean, spread and range of columns, gathered chunk by chunk."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Moments:
    """Weighted statistics of columns (of channels, for images) over everything that was added; NaN is passed over.

    Chunks are merged by the exact update of Chan, Golub and LeVeque, which subtracts no large sums from each other.

    >>> seen = Moments()
    >>> seen.add(np.array([[1.0], [3.0]])); seen.add(np.array([[8.0]]))
    >>> seen.mean.tolist(), round(seen.std.item(), 3), seen.low.tolist(), seen.high.tolist()
    ([4.0], 2.944, [1.0], [8.0])
    """

    def __init__(self) -> None:
        self.total = self.mean = self.squares = np.zeros(0)
        self.low = self.high = np.zeros(0)
        self.gaps = np.zeros(0, dtype=np.int64)

    def add(self, chunk: Array, weights: npt.NDArray[np.float64] | None = None) -> None:
        if weights is not None and not weights.all():
            chunk, weights = chunk[weights > 0], weights[weights > 0]  # what has no weight is not there
        if chunk.size == 0:
            return
        axes = (0,) if chunk.ndim == 2 else (0, *range(2, chunk.ndim))  # an image has statistics per channel
        columns = chunk.shape[1]
        empty = np.isnan(chunk) if chunk.dtype.kind == "f" else np.zeros(0, dtype=bool)
        gaps = empty.sum(axis=axes) if empty.any() else np.zeros(columns, dtype=np.int64)
        if weights is None and not gaps.any():
            # A float64 accumulator over the small integer types of images, without a float64 copy of them.
            total = np.full(columns, chunk.size / columns)
            mean = chunk.mean(axis=axes, dtype=np.float64)
            squares = chunk.var(axis=axes, dtype=np.float64) * total
        else:
            shape = (len(chunk),) + (1,) * (chunk.ndim - 1)
            weight = np.ones(shape) if weights is None else weights.reshape(shape)
            weight = weight * ~np.isnan(chunk)
            values = np.nan_to_num(chunk.astype(np.float64))
            total = weight.sum(axis=axes)
            mean = (weight * values).sum(axis=axes) / np.where(total > 0, total, 1.0)
            centred = values - mean.reshape((1, -1) + (1,) * (chunk.ndim - 2))
            squares = (weight * centred**2).sum(axis=axes)
        low, high = (extreme.reduce(chunk, axis=axes).astype(np.float64) for extreme in (np.fmin, np.fmax))
        self._merge(total, mean, squares, low, high, gaps)

    def _merge(self, total: Array, mean: Array, squares: Array, low: Array, high: Array, gaps: Array) -> None:
        if self.total.size == 0:
            self.total, self.mean, self.squares = total, mean, squares
            self.low, self.high, self.gaps = low, high, gaps
            return
        both = self.total + total
        share = total / np.where(both > 0, both, 1.0)
        apart = mean - self.mean
        self.squares = self.squares + squares + apart**2 * self.total * share
        self.mean = self.mean + apart * share
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)
        self.total, self.gaps = both, self.gaps + gaps

    @property
    def std(self) -> Array:
        """The deviation of the population, as the course has it."""
        return np.sqrt(self.squares / np.where(self.total > 0, self.total, 1.0))
