"""Forecasts that learn nothing: what a model should beat."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Examples


class Repeat(nn.Module):
    """The last `period` values again and again: those of a season, or with a period of 1 the last value.

    `spread` has what is added to it for each step and quantile: 0, or what it was off by in training.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])[None, :, None]
    >>> Repeat(period=2, history=3, spread=torch.zeros(3, 1))(x).tolist()
    [[2.0, 3.0, 2.0]]
    """

    spread: Tensor

    def __init__(self, period: int, history: int, spread: Float[Tensor, "horizon quantiles"]):
        super().__init__()
        self.period, self.history = period, history
        self.register_buffer("spread", spread)

    def forward(self, x: Float[Tensor, "batch length features"]) -> Float[Tensor, "batch outputs"]:
        again = self.history - self.period + torch.arange(len(self.spread), device=x.device) % self.period
        return (x[:, again, 0, None] + self.spread).flatten(1)

    @classmethod
    def fitted(cls, period: int, history: int, train: Examples, quantiles: Float[Tensor, " quantiles"]) -> "Repeat":
        """With quantiles as far from it as they were in training; its median is the value itself."""
        some = train.sample(_SOME)
        plain = cls(period, history, torch.zeros(some.targets.shape[1], 1, device=some.device))
        errors = (some.targets[:] - plain(some.inputs[:])).double()
        spread = torch.quantile(errors, quantiles.to(errors), dim=0).T.float()
        spread[:, quantiles == 0.5] = 0
        return cls(period, history, spread)


_SOME = 4096  # windows that tell enough of all
