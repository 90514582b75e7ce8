"""Bounds of log p(x) for a model with codes z, of which q(z | x) is a guess: by draws from q."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.divergences import kl_gaussian

Rows = Float[Tensor, "batch z"]
PerDraw = Float[Tensor, "samples batch"]


class Codes(NamedTuple):
    """Draws of z from q(z | x)."""

    z: Float[Tensor, "samples batch z"]
    noise: Float[Tensor, "samples batch z"]
    """What they were made of: ε = (z - μ) / σ."""


def draw(mean: Rows, log_variance: Rows, samples: int) -> Codes:
    r"""Codes as functions of noise that has no parameters, so that gradients flow through them.

    $$ z = \mu + \sigma \varepsilon, \qquad \varepsilon \sim N(0, 1) $$
    """
    noise = torch.randn(samples, *mean.shape, dtype=mean.dtype, device=mean.device)
    return Codes(mean + (0.5 * log_variance).exp() * noise, noise)


def kl_each(mean: Rows, log_variance: Rows) -> Rows:
    """KL(q ‖ p) of every number of a code by itself, in closed form."""
    return kl_gaussian(mean[..., None], (0.5 * log_variance).exp()[..., None])


def log_ratio(codes: Codes, log_variance: Rows) -> PerDraw:
    r"""What a draw says of KL(q ‖ p), which is its mean: an estimate that needs no closed form.

    $$ \log \frac{q(z \mid x)}{p(z)} = \frac{1}{2} \sum_j \left( z_j^2 - \varepsilon_j^2 - \log \sigma_j^2 \right) $$
    """
    return 0.5 * (codes.z.square() - codes.noise.square() - log_variance).sum(-1)


def importance_weighted(log_weights: PerDraw) -> Float[Tensor, " batch"]:
    r"""The importance-weighted bound, which rises with the number of draws towards log p(x).

    $$ L_K = \log \frac{1}{K} \sum_k w_k, \qquad w_k = \frac{p(x, z_k)}{q(z_k \mid x)} $$

    Of one draw it is that of the ELBO. Burda, Grosse & Salakhutdinov 2015, arXiv:1509.00519.

    >>> importance_weighted(torch.tensor([[-1000.0], [-1000.0]]))
    tensor([-1000.])
    """
    return log_weights.logsumexp(0) - math.log(len(log_weights))
