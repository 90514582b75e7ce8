"""Windows of a text in which some tokens are hidden, and what those were: for learning to fill them in."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.batch import sent
from gradlab.data.examples import Rows
from gradlab.data.hashing import key, mixed
from gradlab.data.text.windows import Windows

UNASKED = -100  # the target at places that were not chosen: what torch's cross-entropy passes over

_MASKED, _REPLACED = 8, 9  # of ten chosen tokens, those below the first are hidden, the one below the second exchanged


@dataclass(frozen=True, kw_only=True)
class Masked:
    r"""Windows in each of which k tokens are chosen: eight in ten become the token `mask`, one a random one, one stays.

    $$ \tilde x_{ij} = \begin{cases} \text{mask} & u < 8 \\ v & u = 8 \\ x_{ij} & u = 9 \text{ or } j \notin C_i
       \end{cases}, \qquad C_i = \text{the } k \text{ places } j \text{ of least } h(iT + j) $$

    h is a hash of the place in the text and of `key`, and u and v are further hashes of it; so the choice is a pure
    function of them, and of the epoch, whose key `for_epoch` draws. That some tokens stay what they are makes a model
    look at those that are not hidden too (Devlin et al. 2018, arXiv:1810.04805). Every window has as many, so that the
    number of terms in a loss is known without asking the device. Random tokens are from `first` on: no special ones.
    """

    windows: Windows
    chosen: int
    mask: int
    first: int
    vocabulary: int
    key: int = 0

    @property
    def tokens(self) -> npt.NDArray[Any] | Tensor:
        """The text itself, with nothing hidden."""
        return self.windows.tokens

    @property
    def shape(self) -> torch.Size:
        return self.windows.shape

    @property
    def device(self) -> torch.device:
        return self.windows.device

    @property
    def on_host(self) -> bool:
        return self.windows.on_host

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, rows: slice | Tensor | Rows) -> Int64[Tensor, "rows length"]:
        tokens, places, drawn = self._drawn(rows)
        fate, random = mixed(drawn) % 10, self.first + mixed(~drawn) % (self.vocabulary - self.first)
        seen = torch.where(fate < _REPLACED, random, tokens.gather(1, places))
        return tokens.scatter(1, places, seen.masked_fill(fate < _MASKED, self.mask))

    def _drawn(
        self, rows: slice | Tensor | Rows
    ) -> tuple[Int64[Tensor, "rows length"], Int64[Tensor, "rows chosen"], Int64[Tensor, "rows chosen"]]:
        """The tokens of windows, the places that are chosen in each, and the hash of each of those."""
        count, length = self.shape
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(count))
        numbers = sent(torch.as_tensor(rows), self.device)
        if self.windows.rows is not None:
            numbers = torch.from_numpy(self.windows.rows).to(self.device)[numbers]
        place = numbers[:, None] * length + torch.arange(length, device=self.device)
        hashes = mixed(place ^ self.key)
        least = hashes.topk(self.chosen, dim=1, largest=False)
        return self.windows[rows], least.indices, least.values

    def index_select(self, axis: int, chosen: Int64[Tensor, " rows"]) -> Int64[Tensor, "rows length"]:
        assert axis == 0
        return self[chosen]

    @property
    def nbytes(self) -> int:
        return self.windows.nbytes

    @property
    def targets(self) -> "Hidden":
        return Hidden(
            windows=self.windows,
            chosen=self.chosen,
            mask=self.mask,
            first=self.first,
            vocabulary=self.vocabulary,
            key=self.key,
        )

    def subset(self, chosen: Rows) -> "Masked":
        return replace(self, windows=self.windows.subset(chosen))

    def to(self, device: torch.device) -> "Masked":
        return replace(self, windows=self.windows.to(device))

    def for_epoch(self, seed: int, epoch: int) -> "Masked":
        """Other windows with other choices: a pure function of (seed, epoch)."""
        # The 3 keeps this draw apart from those of the windows and of the order.
        return replace(self, windows=self.windows.for_epoch(seed, epoch), key=key(seed, epoch, 3))


class Hidden(Masked):
    """The targets of masked windows: what stood at the chosen places, and `UNASKED` at the others."""

    def __getitem__(self, rows: slice | Tensor | Rows) -> Int64[Tensor, "rows length"]:
        tokens, places, _ = self._drawn(rows)
        return torch.full_like(tokens, UNASKED).scatter(1, places, tokens.gather(1, places))
