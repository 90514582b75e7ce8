"""Sequences of different lengths: in batches of similar ones, padded, with a mask of what is real."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from gradlab.data.order import permutation
from gradlab.errors import GradlabError

_POOL = 100  # batches whose examples are sorted together: a few unlike neighbours keep the batches of epochs apart


class Sequences:
    """Token sequences one after the other in an array, of which any rows are given padded, with their mask.

    >>> tokens, mask = Sequences.of([[5, 6, 7], [8]], padding=0)[torch.tensor([1, 0])]
    >>> tokens.tolist(), mask.tolist()
    ([[8, 0, 0], [5, 6, 7]], [[True, False, False], [True, True, True]])
    """

    def __init__(self, tokens: npt.NDArray[Any], starts: npt.NDArray[np.int64], padding: int):
        """`starts` is where each begins; the last one ends with the tokens. `Tokens.starts` is such an array."""
        if not len(starts):
            raise GradlabError("There are no sequences. Give at least one.")
        self.tokens, self.starts, self.padding = np.asarray(tokens), np.asarray(starts), padding
        self.lengths = np.diff(self.starts, append=len(tokens))

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int] | npt.NDArray[Any]], padding: int) -> "Sequences":
        arrays = [np.asarray(sequence, dtype=np.int64) for sequence in sequences]
        lengths = np.array([len(array) for array in arrays], dtype=np.int64)
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *arrays])
        return cls(flat, np.cumsum(lengths) - lengths, padding)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(
        self, rows: Int64[Tensor, " batch"]
    ) -> tuple[Int64[Tensor, "batch longest"], Bool[Tensor, "batch longest"]]:
        chosen = rows.cpu().numpy()
        places = np.arange(self.lengths[chosen].max(initial=0))
        mask = places < self.lengths[chosen, None]
        found = np.full(mask.shape, self.padding, dtype=np.int64)
        found[mask] = self.tokens[(self.starts[chosen, None] + places)[mask]]
        return torch.from_numpy(found).to(rows.device), torch.from_numpy(mask).to(rows.device)


def length_batches(
    lengths: npt.NDArray[np.int64], batch_size: int, seed: int, epoch: int
) -> list[Int64[Tensor, " batch"]]:
    """Rows of an epoch in batches of similar lengths, in random order: a pure function of (seed, epoch).

    The rows are shuffled, then sorted by length a hundred batches at a time; so there is little padding, and yet other
    rows come together in each epoch. One batch may be smaller than the others.

    >>> [batch.tolist() for batch in length_batches(np.array([7, 1, 8, 2]), 2, seed=0, epoch=0)]
    [[0, 2], [1, 3]]
    """
    if batch_size < 1:
        raise GradlabError(f"A batch must have at least one example, got {batch_size}.")
    order = permutation(len(lengths), seed, epoch).numpy()
    pool = np.arange(len(order)) // (_POOL * batch_size)
    batches = torch.split(torch.from_numpy(order[np.lexsort((lengths[order], pool))]), batch_size)
    # The 2 keeps this draw apart from the first, and from that of `Windows.for_epoch`.
    return [batches[i] for i in np.random.default_rng([seed, epoch, 2]).permutation(len(batches))]
