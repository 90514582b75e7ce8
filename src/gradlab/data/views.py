"""Examples seen through something: a transformation that is drawn anew in each epoch, or the items of a Dataset."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data import generators
from gradlab.data.batch import Batch, as_batch, moved, sent
from gradlab.data.examples import Examples, Rows
from gradlab.data.hashing import key, mixed
from gradlab.errors import GradlabError, one_line

Transform = Callable[[Batch, Int64[Tensor, " rows"]], Batch]
"""Of a batch and a random-looking number for each of its examples: the batch as the model should see it."""


@dataclass(frozen=True, repr=False)
class Transformed(Examples):
    """Examples seen through a transformation that is a pure function of (seed, epoch, example).

    It is given a key for each example, from which it may derive whatever it draws: so an example looks the same in a
    resumed run, in any batch, and in any process.
    """

    transform: Transform = field(kw_only=True)
    epoch_key: int = field(default=0, kw_only=True)
    together = False

    @classmethod
    def over(cls, examples: Examples, transform: Transform) -> "Transformed":
        return cls(examples.parts, examples.rows, transform=transform)

    def for_epoch(self, seed: int, epoch: int) -> "Transformed":
        # The 4 keeps this draw apart from those of the order, the windows and the masks.
        return replace(self, epoch_key=key(seed, epoch, 4))

    def batch(self, rows: Any) -> Batch:
        return self._seen(super().batch(rows), rows)

    def select(self, rows: Int64[Tensor, " rows"], here: Int64[Tensor, " rows"]) -> Batch:
        return self._seen(super().select(rows, here), here)

    def _seen(self, batch: Batch, rows: Any) -> Batch:
        chosen = self.rows[rows.cpu().numpy() if isinstance(rows, Tensor) else rows]
        return self.transform(batch, mixed(sent(torch.from_numpy(chosen), self.device) ^ self.epoch_key))


class _Items:
    """Rows of a Dataset, as much of a column as is needed to pick some of them."""

    nbytes = 0
    shape = torch.Size()

    def __init__(self, dataset: Any, rows: Rows, device: torch.device | None = None):
        self.dataset, self.rows, self.device = dataset, rows, device or torch.device("cpu")

    def __len__(self) -> int:
        return len(self.rows)

    def subset(self, chosen: Rows) -> "_Items":
        return _Items(self.dataset, self.rows[chosen], self.device)

    def to(self, device: torch.device) -> "_Items":
        return _Items(self.dataset, self.rows, device)


@dataclass(frozen=True, repr=False)
class ItemExamples(Examples):
    """The items of a torch Dataset, collated batch by batch.

    What an item draws from torch's, NumPy's or Python's generators is seeded by (seed, epoch, item), and the generators
    are left as they were.
    """

    epoch_key: int = field(default=0, kw_only=True)
    together = False

    @classmethod
    def over(cls, dataset: Any) -> "ItemExamples":
        rows = np.arange(len(dataset))
        return cls({"items": _Items(dataset, rows)}, rows)

    def for_epoch(self, seed: int, epoch: int) -> "ItemExamples":
        return replace(self, epoch_key=key(seed, epoch, 4))

    def batch(self, rows: Any) -> Batch:
        items = self.parts["items"]
        chosen = items.rows[rows.cpu().numpy() if isinstance(rows, Tensor) else rows].tolist()
        with generators.kept():
            read = [_drawn(items.dataset, row, self.epoch_key) for row in chosen]
        return as_batch(moved(_collate(read), items.device))

    def select(self, rows: Int64[Tensor, " rows"], here: Int64[Tensor, " rows"]) -> Batch:
        return self.batch(here)


def _collate(items: list[Any]) -> Any:
    try:
        return torch.utils.data.default_collate(items)
    except (RuntimeError, TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
        raise GradlabError(
            f"The items of the Dataset cannot be put into one batch: {one_line(error)} Give all of them the same names "
            "and shapes, or a DataLoader with a collate_fn."
        ) from None


def _drawn(dataset: Any, row: int, epoch_key: int) -> Any:
    generators.seed(key(epoch_key, row))
    return dataset[row]
