"""How one token is chosen: the most probable, or one by chance."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from gradlab.errors import GradlabError

Seed = int | Sequence[int] | torch.Generator | None
Logits = Float[Tensor, "rows vocabulary"]
Chosen = tuple[Int64[Tensor, " rows"], Float[Tensor, " rows"]]
"""A token for each row, and a number that is finite if the row's logits were sound."""


def greedy(logits: Logits) -> Chosen:
    """The most probable token of each row.

    >>> greedy(torch.tensor([[0.1, 0.9, 0.5]]))[0]
    tensor([1])
    """
    peak, chosen = logits.max(-1)
    return chosen, peak


def draw(logits: Logits, uniform: Float64[Tensor, "rows 1"]) -> Chosen:
    r"""A token of each row by chance, the first whose cumulative probability is larger than u.

    $$ \min \left\{ i : \sum_{j \le i} P(j) > u \right\}, \qquad u \sim \mathrm{Uniform}[0, 1) $$

    One number for each row decides, so that all of them can be drawn before the first token is. A token of probability
    0 is never chosen. The sums are in float64, where u·Σ P stays below Σ P.

    >>> draw(torch.tensor([[0.2, 0.0, 0.8]]).log(), torch.tensor([[0.2001]], dtype=torch.float64))[0]
    tensor([2])
    """
    wide = logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    upto = wide.cumsum(-1, dtype=torch.float64)
    whole = upto[:, -1:]
    chosen = torch.searchsorted(upto, uniform * whole, right=True)
    # NaN leads behind the end; it is reported as soon as the device is waited for, and must do no harm until then.
    return chosen.squeeze(-1).clamp_(max=logits.shape[-1] - 1), whole.squeeze(-1)


def uniforms(seed: Seed, rows: int, count: int) -> Float64[Tensor, "rows count"]:
    """Numbers from [0, 1). Those of row r are a function of (seed, r), and the first are those of a smaller count.

    So a row's text does not depend on which rows stand beside it. A list of seeds has one for each row. A generator, by
    default torch's own, gives the seed.

    >>> torch.equal(uniforms(3, 5, 10)[:2, :4], uniforms(3, 2, 4))
    True
    """
    return torch.stack([torch.rand(count, dtype=torch.float64, generator=g) for g in generators(seed, rows)])


def generators(seed: Seed, rows: int) -> list[torch.Generator]:
    """A generator for each row."""
    if isinstance(seed, Sequence):
        if len(seed) != rows:
            raise GradlabError(f"seed: {rows} rows need as many seeds, or one for all; got {len(seed)}.")
        mixed = [[one] for one in seed]
    else:
        if not isinstance(seed, int):
            seed = int(torch.randint(2**62, (), generator=seed))
        mixed = [[seed, row] for row in range(rows)]
    if any(one[0] < 0 for one in mixed):
        raise GradlabError(f"seed must be at least 0, got {seed}.")
    # SeedSequence mixes well: neighbouring seeds and rows have nothing in common.
    states = [int(np.random.SeedSequence(one).generate_state(1, np.uint64)[0]) >> 1 for one in mixed]
    return [torch.Generator().manual_seed(state) for state in states]


class Watch:
    """Reports logits from which nothing can be chosen. On the CPU at once; elsewhere when the text is done, since to
    look is to wait for the device."""

    def __init__(self, lengths: Sequence[int], width: int, device: torch.device, first: int = 0) -> None:
        self.lengths, self.first = lengths, first
        self.sound = torch.zeros(width, len(lengths), device=device)
        """For each position and row a number that should be finite, where they are looked at later."""

    def see(self, sound: Float[Tensor, " rows"], position: int) -> None:
        """A number for each row that should be finite; there may be several of a position."""
        if sound.device.type != "cpu":
            self.sound[position] += sound
        elif not math.isfinite(sound.item() if sound.numel() == 1 else sound.sum().item()):
            self._look(sound, position)

    def close(self, end: int | None = None) -> None:
        """Look at what was left for later; what was written behind the end counts for nothing."""
        sound = self.sound[:end].cpu()
        for position in (~sound.isfinite()).any(1).nonzero().flatten().tolist():
            self._look(sound[position], position)

    def _look(self, sound: Tensor, position: int) -> None:
        for row, number in enumerate(sound.tolist()):
            if not math.isfinite(number):
                step = position - self.lengths[row] + 1
                if step < 1:
                    raise GradlabError(f"The model gave NaN or +∞ for the prompt of row {self.first + row}.")
                raise GradlabError(
                    f"No token can be chosen at step {step} of row {self.first + row}: "
                    "its logits hold NaN or +∞, or every token is ruled out."
                )
