"""A perceptron for the noise in points, or in small pictures."""

import math
from dataclasses import dataclass
from typing import Annotated

from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.models.generative.time import Condition
from gradlab.models.registry import models
from gradlab.nn import LayerNorm, Linear, SiLU
from gradlab.nn.position import Even
from gradlab.registry import Count
from gradlab.specs import Array


@dataclass(frozen=True, kw_only=True)
class ScoreMLPSettings:
    """What it is built by."""

    dim: Annotated[Even, "features of the hidden layers, and of the embedding of the time"] = 128
    layers: Annotated[Count, "residual blocks"] = 3


class _Block(nn.Module):
    """h + W₂ silu(W₁ norm(h) + V c)"""

    def __init__(self, dim: int):
        super().__init__()
        self.norm, self.told = LayerNorm(dim), Linear(dim, dim)
        self.first, self.activation, self.second = Linear(dim, dim), SiLU(), Linear(dim, dim)

    def forward(self, h: Tensor, c: Tensor) -> Tensor:
        y: Tensor = h + self.second(self.activation(self.first(self.norm(h)) + self.told(c)))
        return y


class ScoreMLP(nn.Module):
    r"""A residual perceptron of noisy numbers x, their time t and perhaps their class y.

    $$ h_0 = W x, \qquad h_{l+1} = h_l + B_l \, \mathrm{silu}(A_l \, \mathrm{norm}(h_l) + V_l c(t, y)), \qquad
       f = U \, \mathrm{norm}(h_L) $$

    The last map starts at 0.

    >>> import torch
    >>> from gradlab.specs import Table
    >>> ScoreMLP(Table(2), 0, ScoreMLPSettings(dim=8))(torch.randn(5, 2), torch.rand(5)).shape
    torch.Size([5, 2])
    """

    def __init__(self, inputs: Array, classes: int, settings: ScoreMLPSettings):
        super().__init__()
        self.shape = inputs.shape
        self.condition = Condition(settings.dim, classes)
        numbers = math.prod(inputs.shape)
        self.first = Linear(numbers, settings.dim)
        self.blocks = nn.ModuleList(_Block(settings.dim) for _ in range(settings.layers))
        self.norm, self.last = LayerNorm(settings.dim), Linear(settings.dim, numbers)
        nn.init.zeros_(self.last.weight)

    def forward(
        self,
        x: Float[Tensor, "batch *shape"],
        time: Float[Tensor, " batch"],
        labels: Int64[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch *shape"]:
        c, h = self.condition(time, labels), self.first(x.flatten(1))
        for block in self.blocks:
            h = block(h, c)
        y: Tensor = self.last(self.norm(h))
        return y.reshape(x.shape)


@models.register("score-mlp")
def score_mlp(inputs: Array, outputs: int, *, settings: ScoreMLPSettings = ScoreMLPSettings()) -> nn.Module:
    """A residual perceptron for the noise in points or small pictures; conditioned on `outputs` classes."""
    return ScoreMLP(inputs, outputs, settings)
