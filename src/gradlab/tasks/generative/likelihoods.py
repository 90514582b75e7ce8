"""What a decoder's numbers say of an example: independent pixels, black or white, or normal."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.bernoulli import bernoulli_log_probability
from gradlab.nn.latent import wide

Numbers = Float[Tensor, "*samples batch numbers"]


@runtime_checkable
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
    """Pixels that are 0 or 1, by their logits."""

    def log_prob(self, model: Any, x: Float[Tensor, "batch numbers"], decoded: Numbers) -> Float[Tensor, "*rows"]:
        return bernoulli_log_probability(decoded, x)

    def mean(self, decoded: Numbers) -> Numbers:
        return wide(decoded).sigmoid()

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
        squares = (x - wide(decoded)).square().sum(-1)
        return -0.5 * precision * squares - x.shape[-1] * (log_scale + 0.5 * math.log(2 * math.pi))

    def mean(self, decoded: Numbers) -> Numbers:
        return wide(decoded)

    def draw(self, model: Any, decoded: Numbers) -> Numbers:
        log_scale = self.log_scale(model)
        scale = log_scale.exp() if isinstance(log_scale, Tensor) else math.exp(log_scale)
        mean = self.mean(decoded)
        return mean + scale * torch.randn_like(mean)
