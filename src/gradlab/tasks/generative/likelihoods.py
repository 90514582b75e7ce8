"""What a decoder's numbers say of an example: independent pixels, black or white, or normal."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Numbers = Float[Tensor, "*samples batch numbers"]


class Likelihood(Protocol):
    """p(x | z) of a model, from what it decodes of z."""

    def log_prob(self, model: Any, x: Float[Tensor, "batch numbers"], decoded: Numbers) -> Float[Tensor, "*rows"]:
        """log p(x | z) of every example, under each of the codes that were decoded for it."""
        ...

    def mean(self, decoded: Numbers) -> Numbers:
        """E[x | z]"""
        ...

    def draw(self, model: Any, decoded: Numbers) -> Numbers:
        """x from p(x | z)"""
        ...


class BernoulliPixels:
    r"""Pixels that are 0 or 1, by their logits.

    $$ \log p(x \mid z) = \sum_i x_i l_i - \log\left(1 + e^{l_i}\right) $$

    >>> BernoulliPixels().log_prob(None, torch.tensor([[1.0, 0.0]]), torch.zeros(3, 1, 2)).exp()
    tensor([[0.2500],
            [0.2500],
            [0.2500]])
    """

    def log_prob(self, model: Any, x: Float[Tensor, "batch numbers"], decoded: Numbers) -> Float[Tensor, "*rows"]:
        return -F.binary_cross_entropy_with_logits(decoded, x.expand_as(decoded), reduction="none").sum(-1)

    def mean(self, decoded: Numbers) -> Numbers:
        return decoded.sigmoid()

    def draw(self, model: Any, decoded: Numbers) -> Numbers:
        return torch.bernoulli(self.mean(decoded))


@dataclass(frozen=True)
class GaussianNumbers:
    r"""Numbers with normal noise around their means, of a standard deviation that all share: given, or learned.

    $$ \log p(x \mid z) = -\sum_i \frac{(x_i - \mu_i)^2}{2 \sigma^2} - \frac{d}{2} \log 2 \pi \sigma^2 $$

    >>> GaussianNumbers(1.0).log_prob(None, torch.zeros(1, 2), torch.zeros(1, 2))
    tensor([-1.8379])
    """

    scale: float | None

    def log_scale(self, model: Any) -> Tensor | float:
        return model.log_scale if self.scale is None else math.log(self.scale)

    def log_prob(self, model: Any, x: Float[Tensor, "batch numbers"], decoded: Numbers) -> Float[Tensor, "*rows"]:
        log_scale = self.log_scale(model)
        # A plain number stays one: a tensor of it would have to be sent to the device in each step.
        precision = (-2 * log_scale).exp() if isinstance(log_scale, Tensor) else math.exp(-2 * log_scale)
        squares = (x - decoded).square().sum(-1)
        return -0.5 * precision * squares - x.shape[-1] * (log_scale + 0.5 * math.log(2 * math.pi))

    def mean(self, decoded: Numbers) -> Numbers:
        return decoded

    def draw(self, model: Any, decoded: Numbers) -> Numbers:
        log_scale = self.log_scale(model)
        scale = log_scale.exp() if isinstance(log_scale, Tensor) else math.exp(log_scale)
        return decoded + scale * torch.randn_like(decoded)
