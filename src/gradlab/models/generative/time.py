"""What a network is conditioned on: how noisy its inputs are, and perhaps of which class."""

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.nn import Embedding, Linear, SiLU

_SCALE, _BASE = (
    1000.0,
    10000.0,
)  # times up to 1 as if they were numbers of steps; the slowest wave has 2π · base of them


def sinusoids(time: Float[Tensor, " batch"], dim: int) -> Float[Tensor, "batch dim"]:
    r"""Sines and cosines of a time at many speeds, in float32.

    $$ \left(\sin \omega_i t, \cos \omega_i t\right), \qquad \omega_i = 1000 \cdot 10000^{-2i/d} $$

    >>> sinusoids(torch.tensor([0.0]), 4)
    tensor([[0., 0., 1., 1.]])
    """
    speeds = torch.arange(dim // 2, device=time.device) * (-2 * math.log(_BASE) / dim)
    angles = time.float()[:, None] * (_SCALE * speeds.exp())
    return torch.cat([angles.sin(), angles.cos()], 1)


class Condition(nn.Module):
    r"""A vector of the time and of the class, which every block of a network is given.

    $$ c = \mathrm{silu}(W_2 \, \mathrm{silu}(W_1 \, \mathrm{sinusoids}(t) + b_1) + b_2 + e_y) $$

    e has a row for each of the `classes` and one more, the last, for no class; without classes there is none.
    """

    def __init__(self, dim: int, classes: int = 0):
        super().__init__()
        self.dim, self.classes = dim, classes
        self.first, self.second = Linear(dim, dim), Linear(dim, dim)
        self.activation = SiLU()
        self.label = Embedding(classes + 1, dim) if classes else None

    def forward(
        self, time: Float[Tensor, " batch"], labels: Int64[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch {self.dim}"]:
        c = self.second(self.activation(self.first(sinusoids(time, self.dim))))
        if self.label is not None:
            classes = torch.full(time.shape, self.classes, device=time.device) if labels is None else labels
            c = c + self.label(classes)
        known: Tensor = self.activation(c)
        return known
