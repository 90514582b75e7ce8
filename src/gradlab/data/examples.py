"""One split, as a model sees it: in memory where it fits, otherwise read as it is needed."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.order import permutation
from gradlab.data.text.sequences import Padded, length_batches

if TYPE_CHECKING:
    from gradlab.data.preprocessing import Preprocessing
    from gradlab.data.text.masking import Masked
    from gradlab.data.text.windows import Windows

Rows = npt.NDArray[np.int64]
Batch = tuple[Tensor, ...]
"""Inputs, targets and, where the examples have them, weights."""


class Streamed:
    """Inputs larger than memory: rows are read and preprocessed when they are asked for.

    It has as much of a tensor's surface as training and evaluation use, and gives the same bits.
    """

    def __init__(
        self, source: npt.NDArray[Any], rows: Rows, preprocessing: "Preprocessing", device: torch.device | None = None
    ):
        self.source, self.rows, self.preprocessing = source, rows, preprocessing
        self.device = device or torch.device("cpu")
        self.shape = torch.Size((len(rows), *preprocessing.output_shape))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: slice | Tensor | Rows) -> Tensor:
        rows = self.rows[chosen.cpu().numpy() if isinstance(chosen, Tensor) else chosen]
        # In the order of the file, which is how a disk reads fastest, and then as asked for.
        order = np.argsort(rows, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return self.preprocessing(self.source[rows[order]])[back].to(self.device)

    def index_select(self, axis: int, chosen: Tensor) -> Tensor:
        assert axis == 0
        return self[chosen]

    def subset(self, chosen: Rows) -> "Streamed":
        return Streamed(self.source, self.rows[chosen], self.preprocessing, self.device)

    @property
    def nbytes(self) -> int:
        return 4 * self.shape.numel()

    def to(self, device: torch.device) -> "Streamed":
        return Streamed(self.source, self.rows, self.preprocessing, device)


Inputs = Union[Tensor, Streamed, Padded, "Windows", "Masked"]


if TYPE_CHECKING:
    Targets = Tensor
else:
    Targets = Any  # of a text, `Windows`, which have as much of a tensor's surface as is used of targets


def _some(part: Any, chosen: Rows) -> Any:
    return part[chosen] if isinstance(part, Tensor) else part.subset(chosen)


@dataclass(frozen=True)
class Examples:
    """One split: model inputs, targets, the rows of the source they came from, and perhaps a weight for each.

    Weights have mean 1, so that the weighted mean loss of a batch has the scale of the plain one.
    """

    inputs: Inputs
    targets: Targets
    rows: Rows
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def parts(self) -> tuple[Inputs, ...]:
        """What a batch is cut from."""
        return (self.inputs, self.targets) if self.weights is None else (self.inputs, self.targets, self.weights)

    def sample(self, count: int, stretches: int | None = None) -> "Examples":
        """Some of them, evenly spread, since sources often have their classes one after the other.

        Each by itself, or in so many stretches of neighbours, which a model can read on from one to the next.
        """
        count = min(count, len(self))
        apart = max(1, min(count, stretches or count))
        starts = np.arange(apart) * len(self) // apart
        chosen = (starts[:, None] + np.arange(count // apart)).ravel()
        weights = None if self.weights is None else self.weights[chosen]
        return Examples(_some(self.inputs, chosen), _some(self.targets, chosen), self.rows[chosen], weights)

    def for_epoch(self, seed: int, epoch: int) -> "Examples":
        """The same, but for what differs from epoch to epoch: where windows of a text begin, and what they hide."""
        if isinstance(self.inputs, (Tensor, Streamed, Padded)):
            return self
        windows: Any = self.targets
        return replace(self, inputs=self.inputs.for_epoch(seed, epoch), targets=windows.for_epoch(seed, epoch))

    def order(self, seed: int, epoch: int, batch_size: int) -> Int64[Tensor, " rows"]:
        """The rows of an epoch, batch after batch: a pure function of (seed, epoch).

        Texts come in batches of similar lengths, which need little padding.
        """
        if isinstance(self.inputs, Padded):
            return torch.cat(length_batches(self.inputs.lengths, batch_size, seed, epoch))
        return permutation(len(self), seed, epoch)

    def to(self, device: torch.device) -> "Examples":
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, inputs=self.inputs.to(device), targets=self.targets.to(device), weights=weights)
