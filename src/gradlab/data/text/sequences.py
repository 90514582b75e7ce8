"""Sequences of different lengths: in batches of similar ones, padded, with a mask of what is real."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from gradlab.data.batch import sent
from gradlab.data.examples import Examples
from gradlab.data.order import permutation
from gradlab.errors import GradlabError

_POOL = 100  # batches whose examples are sorted together: a few unlike neighbours keep the batches of epochs apart
_TOKENS = 2**16  # that are in memory at once where nothing is learned: what a model makes of a text grows with them
_WIDTHS = 16  # to which rows are padded, evenly up to the longest: the padding they add is at most a sixteenth of that


class Sequences:
    """Token sequences one after the other in an array, of which any rows are given padded, with their mask.

    >>> tokens, mask = Sequences.of([[5, 6, 7], [8]], padding=0)[torch.tensor([1, 0])]
    >>> tokens.tolist(), mask.tolist()
    ([[8, 0, 0], [5, 6, 7]], [[True, False, False], [True, True, True]])
    """

    def __init__(
        self,
        tokens: npt.NDArray[Any],
        starts: npt.NDArray[np.int64],
        padding: int,
        *,
        longest: int | None = None,
        multiple: int = 1,
    ):
        """`starts` is where each begins; the last one ends with the tokens. `Tokens.starts` is such an array.

        Of a sequence longer than `longest` there is the beginning. Rows are padded to a multiple of `multiple`.
        """
        if not len(starts):
            raise GradlabError("There are no sequences. Give at least one.")
        self.tokens, self.starts, self.padding, self.multiple = (
            np.asarray(tokens),
            np.asarray(starts),
            padding,
            multiple,
        )
        self.lengths = np.minimum(np.diff(self.starts, append=len(tokens)), len(tokens) if longest is None else longest)

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
        width = -(-self.lengths[chosen].max(initial=0) // self.multiple) * self.multiple
        places = np.arange(width)
        mask = places < self.lengths[chosen, None]
        tokens = np.full(mask.shape, self.padding, dtype=np.int64)
        tokens[mask] = self.tokens[(self.starts[chosen, None] + places)[mask]]
        return torch.from_numpy(tokens).to(rows.device), torch.from_numpy(mask).to(rows.device)


class Padded:
    """Texts as inputs: rows of sequences, padded on the right to about the longest of those asked for together.

    Like `data.examples.Streamed`, it has as much of a tensor's surface as training and evaluation use. Widths are
    multiples of a sixteenth of the longest there may be, so that a step need be recorded for few shapes.
    """

    on_host = True

    def __init__(
        self, sequences: Sequences, longest: int, rows: npt.NDArray[np.int64], device: torch.device | None = None
    ):
        self.sequences, self.longest, self.rows = sequences, longest, rows
        self.device = device or torch.device("cpu")
        self.lengths = sequences.lengths[rows]
        self.shape = torch.Size((len(rows), longest))

    @classmethod
    def of(cls, tokens: npt.NDArray[Any], starts: npt.NDArray[np.int64], longest: int, padding: int = 0) -> "Padded":
        """All sequences of an array, the beginnings of those that are longer than `longest`."""
        multiple = -(-longest // _WIDTHS)
        return cls(
            Sequences(tokens, starts, padding, longest=longest, multiple=multiple), longest, np.arange(len(starts))
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: slice | Tensor | npt.NDArray[np.int64]) -> Int64[Tensor, "rows width"]:
        rows = self.rows[chosen.cpu().numpy() if isinstance(chosen, Tensor) else chosen]
        tokens, _ = self.sequences[torch.from_numpy(rows)]
        return sent(tokens[:, : self.longest], self.device)

    def index_select(self, axis: int, chosen: Int64[Tensor, " rows"]) -> Int64[Tensor, "rows width"]:
        assert axis == 0
        return self[chosen]

    def subset(self, chosen: npt.NDArray[np.int64]) -> "Padded":
        return Padded(self.sequences, self.longest, self.rows[chosen], self.device)

    def flat(self) -> npt.NDArray[Any]:
        """The tokens of all rows one after the other, without padding."""
        starts = self.sequences.starts[self.rows]
        return np.concatenate([self.sequences.tokens[a : a + n] for a, n in zip(starts, self.lengths, strict=True)])

    def to(self, device: torch.device) -> "Padded":
        return Padded(self.sequences, self.longest, self.rows, device)

    @property
    def nbytes(self) -> int:
        """Of all examples as a tensor."""
        return 8 * self.shape.numel()

    @property
    def most_rows(self) -> int:
        """That are read together where nothing is learned."""
        return max(1, _TOKENS // self.longest)


class PaddedExamples(Examples):
    """Texts of different lengths: batches are of similar ones, which need little padding."""

    together = False  # all of them would be padded to the longest

    def order(self, seed: int, epoch: int, batch_size: int) -> Int64[Tensor, " rows"]:
        return torch.cat(length_batches(self.inputs.lengths, batch_size, seed, epoch))


def length_batches(
    lengths: npt.NDArray[np.int64], batch_size: int, seed: int, epoch: int
) -> list[Int64[Tensor, " batch"]]:
    """Rows of an epoch in batches of similar lengths, in random order: a pure function of (seed, epoch).

    The rows are shuffled, then sorted by length a hundred batches at a time; so there is little padding, and yet other
    rows come together in each epoch. A batch that is smaller than the others is the last. With several lengths of a
    row, the first of them counts most.

    >>> [batch.tolist() for batch in length_batches(np.array([7, 1, 8, 2]), 2, seed=0, epoch=0)]
    [[0, 2], [1, 3]]
    """
    if batch_size < 1:
        raise GradlabError(f"A batch must have at least one example, got {batch_size}.")
    order = permutation(len(lengths), seed, epoch).numpy()
    pool = np.arange(len(order)) // (_POOL * batch_size)
    sides = (lengths[:, None] if lengths.ndim == 1 else lengths)[order].T[::-1]
    batches = torch.split(torch.from_numpy(order[np.lexsort((*sides, pool))]), batch_size)
    # The 2 keeps this draw apart from the first, and from that of `Windows.for_epoch`.
    whole = len(lengths) // batch_size
    return [*(batches[i] for i in np.random.default_rng([seed, epoch, 2]).permutation(whole)), *batches[whole:]]
