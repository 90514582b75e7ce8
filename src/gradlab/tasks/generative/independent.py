"""Baselines of generative models: every number of an example by itself, whatever the others are."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.tasks.constant import Constant

_ROWS = 4096


class IndependentPixels(nn.Module):
    r"""Each pixel is white as often as in the training examples, with one white and one black more.

    $$ p_i = \frac{1 + \sum_n x_{ni}}{2 + N} $$

    >>> model = IndependentPixels.fitted(Examples.of(torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.zeros(2)))
    >>> model.probability
    tensor([0.7500, 0.5000])
    """

    probability: Tensor

    def __init__(self, probability: Float[Tensor, "*shape"]):
        super().__init__()
        self.register_buffer("probability", probability)

    @classmethod
    def fitted(cls, train: Examples) -> "IndependentPixels":
        mean, _ = _moments(train)
        return cls(((1 + len(train) * mean) / (2 + len(train))).float())

    def log_likelihood(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, " batch"]:
        p = self.probability.expand_as(x)
        return -F.binary_cross_entropy(p, x, reduction="none").flatten(1).sum(1)

    def sample(self, count: int) -> Float[Tensor, "samples *shape"]:
        return torch.bernoulli(self.probability.expand(count, *self.probability.shape))


class IndependentLevels(Constant):
    """Logits of the levels of each pixel, whatever the others are."""

    def sample(self, count: int) -> Float[Tensor, "samples channels height width"]:
        """Pictures, from 0 to 1."""
        chances = self.output.movedim(0, -1).softmax(-1)
        drawn = torch.multinomial(chances.flatten(0, -2), count, replacement=True).T
        return drawn.reshape(count, *chances.shape[:-1]) / (chances.shape[-1] - 1)


class IndependentGaussians(nn.Module):
    """Each number is normal, with its mean and standard deviation in the training examples, or `least` if that is more.

    Numbers that never change would otherwise have a density without bound.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Float[Tensor, "*shape"], std: Float[Tensor, "*shape"]):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    @classmethod
    def fitted(cls, train: Examples, least: float) -> "IndependentGaussians":
        mean, square = _moments(train)
        return cls(mean.float(), (square - mean**2).clamp(min=least**2).sqrt().float())

    def log_likelihood(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, " batch"]:
        apart = (x - self.mean) / self.std
        return -(0.5 * apart**2 + self.std.log() + 0.5 * math.log(2 * math.pi)).flatten(1).sum(1)

    def sample(self, count: int) -> Float[Tensor, "samples *shape"]:
        noise = torch.randn(count, *self.mean.shape, device=self.mean.device)
        return self.mean + self.std * noise


def _moments(train: Any) -> tuple[Tensor, Tensor]:
    """The means of the inputs and of their squares."""
    first = second = torch.zeros((), dtype=torch.float64, device=train.device)
    for batch in train.batches(_ROWS):
        x = batch["inputs"].double()
        first, second = first + x.sum(0), second + x.square().sum(0)
    return first / len(train), second / len(train)
