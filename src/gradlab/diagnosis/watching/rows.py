"""Rows by their fingerprints: which of those a model is judged on it was trained on."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from gradlab.diagnosis.record import Shared
from gradlab.diagnosis.shapes import flatten_rows

_WIDTH, _MOST, _SHORTEST = 1024, 50_000, 8
_MANY = 16.0  # e to that power: ten million different rows
_EPOCH, _SELDOM = 5, 8  # batches without a new row, after which one in so many is looked at


class Rows:
    """Rows that a root was given, by fingerprints. A fingerprint is a sum of integers, exact in any order."""

    def __init__(self) -> None:
        self.trained: set[int] = set()
        self.batches: list[list[int]] = []
        """Of those it was judged on, the first ones."""
        self.continuous = False
        self.values = 0
        self._weights = np.random.default_rng(0).integers(1, 2**63, _WIDTH, dtype=np.uint64) * 2 + 1
        self._idle = self._calls = 0
        self.again: set[int] = set()
        """Rows that it was trained on more than once."""
        self._moved: set[int] = set()
        """What is left of rows that it was trained on without their first or their last moment."""
        self._known: list[int] = []
        """Of each batch that it was judged on, how many rows it had been trained on by then,"""
        self._neighbours = self._compared = 0
        """and of all others, how many are the next moment of a row that it was trained on; of so many."""

    def train(self, batch: Tensor) -> None:
        self._calls += 1
        # Folds and new splits bring new rows long after the first epoch.
        if (self._idle >= _EPOCH and self._calls % _SELDOM) or len(self.trained) >= _MOST:
            return
        prints = self._whole(batch)
        known = self.trained.intersection(prints)
        self.again |= known
        before = len(self.trained)
        self.trained.update(prints)
        if len(self.trained) > before and self.continuous:
            for pieces in self._pieces(batch):
                self._moved.update(piece for part in pieces for piece in part if piece is not None)
        # Once all of several batches were known, the first epoch is over.
        self._idle = self._idle + 1 if len(self.trained) == before else 0

    @property
    def endless(self) -> bool:
        """Whether new rows came all the time."""
        return self._idle < _EPOCH

    def judge(self, batch: Tensor) -> None:
        if len(self.batches) < 500:
            prints = self._whole(batch)
            self.batches.append(prints)
            new = [row not in self.trained for row in prints]
            self._known.append(len(new) - sum(new))
            self._overlap(batch, new)

    def _overlap(self, batch: Tensor, new: list[bool]) -> None:
        """Count rows whose neighbours in time it was trained on; along the axis on which there are most."""
        if not self._moved:
            return
        most, of = 0, 0
        for early, late in self._pieces(batch):
            varied = [fresh and one is not None for fresh, one in zip(new, early, strict=True)]
            near = sum(
                v and (one in self._moved or other in self._moved)
                for v, one, other in zip(varied, early, late, strict=True)
            )
            most, of = max((most, of), (near, sum(varied)))
        self._neighbours += most
        self._compared += of

    def compared(self, trained: set[int], again: set[int]) -> Shared:
        """Batches that it was judged on with rows that were trained on.

        A batch of nothing but training rows is somebody's look at the training error, and one that has all of them is
        a look at everything.
        """
        seen = Shared(trained=len(trained), values=self.values, continuous=self.continuous)
        mixed = set()
        for batch in self.batches:
            count = sum(one in trained for one in batch)
            if count == 0:
                seen.clear += 1
            elif count >= 0.97 * len(batch) or count >= 0.9 * len(trained):
                seen.known += 1
            else:
                seen.batches, seen.rows, seen.shared = seen.batches + 1, seen.rows + len(batch), seen.shared + count
                mixed.add(tuple(batch))
        seen.kinds = len(mixed)
        evaluated = {one for batch in self.batches for one in batch}
        seen.evaluated, seen.asked = len(evaluated), sum(map(len, self.batches))
        seen.neighbours, seen.compared = self._neighbours, self._compared
        seen.first_known, seen.last_known, seen.returned = self._taken_over()
        seen.all_there = len(trained & evaluated) > 0.95 * len(trained)
        seen.again = len(again & evaluated) / len(again) if len(again) >= 20 else 0.0
        # How often two rows of one batch are the same tells how often one is the same as any of so many others; with
        # none at all, three are still possible.
        batches = {tuple(batch) for batch in self.batches}
        twice, pairs = (sum(f(len(b), len(set(b))) for b in batches) for f in (_repeated, _pairs))
        seen.by_chance = min(1.0, len(trained) * (twice + 3) / max(1, pairs))
        return seen

    def _taken_over(self) -> tuple[float, float, float]:
        """The share of rows that were known when first judged on, and when last; and, of those that were new at first,
        the share that it was trained on later."""
        shares = [known / max(1, len(batch)) for known, batch in zip(self._known, self.batches, strict=True)]
        if len(shares) < 2:
            return 0.0, 0.0, 0.0
        new = {row for batch, share in zip(self.batches, shares, strict=True) if share < 0.3 for row in batch}
        later = len(new & self.trained) / len(new) if len(new) >= 20 else 0.0
        return shares[0], shares[-1], later

    def _pieces(self, batch: Tensor) -> Iterator[tuple[list[int | None], list[int | None]]]:
        """Rows without their last and without their first moment, by each axis that may be time; None for a row in
        which little changes from moment to moment, as in padding and flags: such pieces meet by chance."""
        if batch.ndim not in (2, 3):
            return
        for axis in {1, batch.ndim - 1}:
            length = batch.shape[axis]
            if length < _SHORTEST:
                continue
            early, late = batch.narrow(axis, 0, length - 1), batch.narrow(axis, 1, length - 1)
            varied = (flatten_rows(early != late).float().mean(1) > 0.5).tolist()
            both = (self._prints(part.contiguous()) for part in (early, late))
            first, second = ([p if v else None for p, v in zip(part, varied, strict=True)] for part in both)
            yield first, second

    def _whole(self, batch: Tensor) -> list[int]:
        self.values = min(_WIDTH, batch[0].numel()) if len(batch) else 0
        if not self.continuous and batch.is_floating_point():
            some = batch.detach()[:64]
            # A few levels in a few columns are met again by chance, whole numbers or not.
            combinations = self.values * math.log(max(2, min(len(torch.unique(some)), 1000)))
            self.continuous = bool((some != some.round()).any()) and combinations > _MANY
        return self._prints(batch)

    def _prints(self, batch: Tensor) -> list[int]:
        flat = flatten_rows(batch.detach())
        if flat.device.type != "cpu" or flat.dtype not in _AS_INTEGERS:
            flat = flat.cpu() if flat.dtype in _AS_INTEGERS else flat.float().cpu()
        if flat.shape[1] > _WIDTH:
            flat = flat[:, :: flat.shape[1] // _WIDTH + 1]
        numbers = flat.contiguous().numpy().view(_AS_INTEGERS[flat.dtype]).astype(np.uint64)
        weights = self._weights[: numbers.shape[1]]
        prints: list[int] = (numbers * weights).sum(axis=1, dtype=np.uint64).tolist()
        return prints


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
