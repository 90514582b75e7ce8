"""A token array as examples of one length, for learning to predict the next token."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int64
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from gradlab.data.batch import sent
from gradlab.data.examples import Examples, Rows
from gradlab.errors import GradlabError
from gradlab.wording import counted

STRIPS = 8  # of a text that is read in order. Each starts from a state of zeros: 8 cost 0.002 bits per byte beside one


class Windows:
    r"""Examples of T tokens, one after the other, and their targets, which are the same one place on.

    $$ x_i = (t_{s_i}, \dots, t_{s_i+T-1}), \qquad y_i = (t_{s_i+1}, \dots, t_{s_i+T}), \qquad s_i = o + iT $$

    The tokens may be a mapped file, of which the rows asked for are read, or a tensor on any device (`resident`). Like
    `data.examples.Streamed`, it has as much of a tensor's surface as training and evaluation use.

    Of n tokens there are ⌊(n − 1) / T⌋ examples: each token is a target once, but for the first and for what is left at
    the end, which is less than a window. Windows go on over the borders of documents. The offset o is 0 unless it is
    drawn for an epoch, and then a last window that would go too far ends with the last token.

    >>> inputs = Windows(torch.arange(10), length=4)
    >>> inputs[:].tolist(), inputs.targets[:].tolist()
    ([[0, 1, 2, 3], [4, 5, 6, 7]], [[1, 2, 3, 4], [5, 6, 7, 8]])
    """

    def __init__(
        self,
        tokens: npt.NDArray[Any] | Tensor,
        length: int,
        *,
        offset: int = 0,
        ahead: int = 0,
        rows: Rows | None = None,
        device: torch.device | None = None,
    ):
        if length < 1:
            raise GradlabError(f"A context must have at least one token, got {length}.")
        if len(tokens) <= length:
            raise GradlabError(
                f"The text is too short: it has {counted(len(tokens), 'token')}, and a context of {length} needs "
                f"{length + 1}. Give more text, or a shorter context."
            )
        self.tokens, self.length, self.offset, self.ahead, self.rows = tokens, length, offset, ahead, rows
        self._count = (len(tokens) - 1) // length
        self.shape = torch.Size((self._count if rows is None else len(rows), length))
        # Every window there is, as a view: a batch is then one gather of its rows.
        self._all: npt.NDArray[Any] | Tensor
        if isinstance(tokens, Tensor):
            self._all, self.device = tokens.unfold(0, length, 1), tokens.device
        else:
            self._all, self.device = sliding_window_view(np.asarray(tokens), length), device or torch.device("cpu")

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: slice | Tensor | Rows) -> Int64[Tensor, "rows length"]:
        if isinstance(chosen, slice):
            chosen = np.arange(*chosen.indices(len(self)))
        if isinstance(self._all, Tensor):
            starts = self._starts(torch.as_tensor(chosen).to(self.device))
            return self._all.index_select(0, starts).long()
        windows = self._all[self._starts(torch.as_tensor(chosen).cpu()).numpy()]
        return sent(torch.from_numpy(windows.astype(np.int64)), self.device)

    def _starts(self, chosen: Int64[Tensor, " rows"]) -> Int64[Tensor, " rows"]:
        """Where the windows of these rows begin."""
        if chosen.device.type == "cpu" and len(chosen) and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(self):
            raise IndexError(f"There are {len(self)} windows, got a row that is not one of them.")
        rows = chosen if self.rows is None else torch.from_numpy(self.rows).to(chosen.device)[chosen]
        return (rows * self.length + self.offset).clamp_(max=len(self.tokens) - 1 - self.length) + self.ahead

    def index_select(self, axis: int, chosen: Int64[Tensor, " rows"]) -> Int64[Tensor, "rows length"]:
        assert axis == 0
        return self[chosen]

    @property
    def nbytes(self) -> int:
        """Of all examples as a tensor."""
        return 8 * self.shape.numel()

    @property
    def on_host(self) -> bool:
        """Whether rows are read from a file, and then go to the device."""
        return not isinstance(self._all, Tensor)

    @property
    def targets(self) -> "Windows":
        """What follows each token: the same windows, one place on."""
        return self._but(ahead=self.ahead + 1)

    def subset(self, chosen: Rows) -> "Windows":
        return self._but(rows=chosen if self.rows is None else self.rows[chosen])

    def to(self, device: torch.device) -> "Windows":
        """Examples on this device; a mapped file stays one, and its rows go there when they are asked for."""
        moved = self.tokens.to(device) if isinstance(self.tokens, Tensor) else self.tokens
        return self._but(tokens=moved, device=device)

    def resident(self, device: torch.device) -> "Windows":
        """The same with all tokens in the memory of a device. `targets` made of it share them."""
        if isinstance(self.tokens, Tensor):
            return self.to(device)
        # Torch can do little with unsigned numbers of two or four bytes.
        kind = np.uint8 if self.tokens.dtype == np.uint8 else np.int32
        return self._but(tokens=torch.from_numpy(np.array(self.tokens, dtype=kind)).to(device))

    def for_epoch(self, seed: int, epoch: int) -> "Windows":
        """As many windows, shifted by 0 to T − 1 places: a pure function of (seed, epoch)."""
        # The 1 keeps this draw apart from that of the epoch's order.
        return self._but(offset=int(np.random.default_rng([seed, epoch, 1]).integers(self.length)))

    def sequential(self, batch_size: int) -> Int64[Tensor, "steps {batch_size}"]:
        """Rows for each step, so that row b of a step goes on where row b of the step before ended.

        For models that carry their state: the text is cut into `batch_size` strips of equal length. Windows left over
        are not met, nor is the last, which an offset may have moved.
        """
        steps = (len(self) - 1) // batch_size
        if steps < 1 or self.rows is not None:
            raise GradlabError(
                f"The text is too short: its {counted(len(self), 'window')} of {self.length} tokens do not make "
                f"{batch_size} strips. Take a smaller batch, or a shorter context."
            )
        return torch.arange(batch_size * steps).view(batch_size, steps).T

    def _but(self, **changed: Any) -> "Windows":
        same = {"tokens": self.tokens, "length": self.length, "offset": self.offset, "ahead": self.ahead}
        return Windows(**{**same, "rows": self.rows, "device": self.device, **changed})


@dataclass(frozen=True, repr=False)
class WindowExamples(Examples):
    """Windows of a text and their targets, which begin at other places in each epoch."""

    @classmethod
    def over(cls, inputs: Any) -> "WindowExamples":
        """Windows beside what follows them, or masked ones beside what they hide."""
        return cls.of(inputs, inputs.targets)

    def for_epoch(self, seed: int, epoch: int) -> "WindowExamples":
        return self.but(**{name: part.for_epoch(seed, epoch) for name, part in self.parts.items()})

    def sample(self, count: int) -> "WindowExamples":
        """Evenly spread; with `carries` in so many strips of neighbours, which a model can read on from."""
        if not self.carries:
            return super().sample(count)
        count = min(count, len(self))
        apart = max(1, min(count, STRIPS))
        starts = np.arange(apart) * len(self) // apart
        return self.subset((starts[:, None] + np.arange(count // apart)).ravel())

    def carried(self) -> "WindowExamples":
        if not hasattr(self.inputs, "sequential"):
            super().carried()  # which refuses
        return replace(self, carries=True)
