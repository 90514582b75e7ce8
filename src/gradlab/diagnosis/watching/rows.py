"""Rows by their fingerprints: which of those a model is judged on it was trained on."""

import numpy as np
import torch
from torch import Tensor

from gradlab.diagnosis.record import Shared

_WIDTH, _MOST = 1024, 50_000


class Rows:
    """Rows that a root was given, by fingerprints. A fingerprint is a sum of integers, exact in any order."""

    def __init__(self) -> None:
        self.trained: set[int] = set()
        self.batches: list[list[int]] = []
        """Of those it was judged on, the first ones."""
        self.continuous = False
        self.values = 0
        self._weights = np.random.default_rng(0).integers(1, 2**63, _WIDTH, dtype=np.uint64) * 2 + 1
        self._idle = 0
        self.again: set[int] = set()
        """Rows that it was trained on more than once."""

    def train(self, batch: Tensor) -> None:
        if self._idle >= 5 or len(self.trained) >= _MOST:
            return
        prints = self._prints(batch)
        known = self.trained.intersection(prints)
        self.again |= known
        before = len(self.trained)
        self.trained.update(prints)
        # Once all of several batches were known, the first epoch is over.
        self._idle = self._idle + 1 if len(self.trained) == before else 0

    @property
    def endless(self) -> bool:
        """Whether new rows came all the time."""
        return self._idle < 5

    def judge(self, batch: Tensor) -> None:
        if len(self.batches) < 500:
            self.batches.append(self._prints(batch))

    def compared(self, trained: set[int], again: set[int]) -> Shared:
        """Batches that it was judged on with rows that were trained on.

        A batch of nothing but training rows is somebody's look at the training error, and one that has all of them is
        a look at everything.
        """
        seen = Shared(trained=len(trained), values=self.values, continuous=self.continuous)
        for batch in self.batches:
            count = sum(one in trained for one in batch)
            if count == 0:
                seen.clear += 1
            elif count >= 0.97 * len(batch) or count >= 0.9 * len(trained):
                seen.known += 1
            else:
                seen.batches, seen.rows, seen.shared = seen.batches + 1, seen.rows + len(batch), seen.shared + count
        evaluated = {one for batch in self.batches for one in batch}
        seen.all_there = len(trained & evaluated) > 0.95 * len(trained)
        seen.again = len(again & evaluated) / len(again) if len(again) >= 20 else 0.0
        # How often two rows of one batch are the same tells how often one is the same as any of so many others; with
        # none at all, three are still possible.
        batches = {tuple(batch) for batch in self.batches}
        twice, pairs = (sum(f(len(b), len(set(b))) for b in batches) for f in (_repeated, _pairs))
        seen.by_chance = min(1.0, len(trained) * (twice + 3) / max(1, pairs))
        return seen

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


def _repeated(rows: int, different: int) -> int:
    return rows - different


def _pairs(rows: int, different: int) -> int:
    return rows * (rows - 1) // 2


_AS_INTEGERS = {
    torch.float32: np.uint32,
    torch.float64: np.uint64,
    torch.int64: np.uint64,
    torch.int32: np.uint32,
    torch.uint8: np.uint8,
}
