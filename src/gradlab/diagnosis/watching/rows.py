"""Rows by their fingerprints: which of those a model is judged on it was trained on."""

import numpy as np
import torch
from torch import Tensor

_WIDTH, _MOST = 1024, 50_000


class Rows:
    """Sets of fingerprints of rows. A fingerprint is a sum of integers, exact in any order."""

    def __init__(self) -> None:
        self.trained: set[int] = set()
        self.judged: set[int] = set()
        self.batches: list[list[int]] = []
        """Of those it was judged on, the first ones."""
        self.continuous = False
        self.values = 0
        self._weights = np.random.default_rng(0).integers(1, 2**63, _WIDTH, dtype=np.uint64) * 2 + 1
        self._idle = 0

    def train(self, batch: Tensor) -> None:
        if self._idle >= 5 or len(self.trained) >= _MOST:
            return
        prints = self._prints(batch)
        before = len(self.trained)
        self.trained.update(prints)
        # Once all of several batches were known, the first epoch is over.
        self._idle = self._idle + 1 if len(self.trained) == before else 0

    def judge(self, batch: Tensor) -> None:
        if len(self.judged) < _MOST:
            prints = self._prints(batch)
            self.judged.update(prints)
            if len(self.batches) < 500:
                self.batches.append(prints)

    @property
    def shared(self) -> int:
        return len(self.trained & self.judged)

    def mixed(self) -> tuple[int, int, int, int, int]:
        """Batches of which some rows were trained on, their rows, those that were; batches without any; and with all.

        A batch of nothing but training rows is somebody's look at the training error, and one that has all of them is
        a look at everything.
        """
        mixed, rows, shared, clear, known = 0, 0, 0, 0, 0
        for batch in self.batches:
            trained = sum(one in self.trained for one in batch)
            if trained == 0:
                clear += 1
            elif trained >= 0.97 * len(batch) or trained >= 0.9 * len(self.trained):
                known += 1
            else:
                mixed, rows, shared = mixed + 1, rows + len(batch), shared + trained
        return mixed, rows, shared, clear, known

    def _prints(self, batch: Tensor) -> list[int]:
        flat = batch.detach().reshape(len(batch), -1)
        if flat.device.type != "cpu" or flat.dtype not in _AS_INTEGERS:
            flat = flat.cpu() if flat.dtype in _AS_INTEGERS else flat.float().cpu()
        if flat.shape[1] > _WIDTH:
            flat = flat[:, :: flat.shape[1] // _WIDTH + 1]
        self.values = flat.shape[1]
        if not self.continuous and flat.is_floating_point():
            self.continuous = bool((flat[:8] != flat[:8].round()).any())
        numbers = flat.contiguous().numpy().view(_AS_INTEGERS[flat.dtype]).reshape(len(flat), -1).astype(np.uint64)
        weights = self._weights[: numbers.shape[1]]
        found: list[int] = (numbers * weights).sum(axis=1, dtype=np.uint64).tolist()
        return found


_AS_INTEGERS = {
    torch.float32: np.uint32,
    torch.float64: np.uint64,
    torch.int64: np.uint64,
    torch.int32: np.uint32,
    torch.uint8: np.uint8,
}
