"""Bounds of log p(x) for a model with codes z, of which q(z | x) is a guess: by draws from q."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Rows = Float[Tensor, "batch z"]
PerDraw = Float[Tensor, "samples batch"]


class Codes(NamedTuple):
    """Draws of z from q(z | x)."""

    z: Float[Tensor, "samples batch z"]
    noise: Float[Tensor, "samples batch z"]
    """What they were made of: ε = (z - μ) / σ."""


def wide(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """In float32 at least: sums over hundreds of pixels need more digits than half a precision has."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def reparametrise(mean: Rows, log_variance: Rows, noise: Float[Tensor, "samples batch z"]) -> Codes:
    r"""Codes as functions of noise that has no parameters, so that gradients flow through them.

    $$ z = \mu + \sigma \varepsilon, \quad \varepsilon \sim N(0, 1), \qquad
       \nabla \, E_z f(z) = E_\varepsilon \nabla f(\mu + \sigma \varepsilon) $$

    The gradients are those by μ and σ.

    >>> reparametrise(torch.tensor([[1.0]]), torch.tensor([[4.0]]).log(), torch.tensor([[[-1.0]], [[1.0]]])).z.flatten()
    tensor([-1.,  3.])
    """
    return Codes(mean + (0.5 * log_variance).exp() * noise, noise)


def draw(mean: Rows, log_variance: Rows, samples: int) -> Codes:
    """So many codes for each example, of standard normal noise."""
    noise = torch.randn(samples, *mean.shape, dtype=mean.dtype, device=mean.device)
    return reparametrise(mean, log_variance, noise)


def kl_each(mean: Rows, log_variance: Rows) -> Rows:
    r"""KL(q ‖ p) of every number of a code by itself, in closed form.

    $$ \mathrm{KL}\left( N(\mu, \sigma^2) \Vert N(0, 1) \right)
       = \frac{1}{2} \left( \mu^2 + \sigma^2 - 1 - \log \sigma^2 \right) $$

    Their sum is `divergence.kl_gaussian`; here the logarithm is given, and a σ that is rounded to 0 does no harm.

    >>> kl_each(torch.zeros(1, 2), torch.tensor([[0.0, -1000.0]]))
    tensor([[  0.0000, 499.5000]])
    """
    return 0.5 * (mean.square() + log_variance.exp() - log_variance - 1)


def log_ratio(codes: Codes, log_variance: Rows) -> PerDraw:
    r"""What a draw says of KL(q ‖ p), which is its mean: an estimate that needs no closed form.

    $$ \log \frac{q(z \mid x)}{p(z)} = \frac{1}{2} \sum_j \left( z_j^2 - \varepsilon_j^2 - \log \sigma_j^2 \right) $$
    """
    return 0.5 * (codes.z.square() - codes.noise.square() - log_variance).sum(-1)


def importance_weighted(log_weights: Float[Tensor, "samples *batch"]) -> Float[Tensor, "*batch"]:
    r"""The importance-weighted bound, which rises with the number of draws towards log p(x).

    $$ L_K = \log \frac{1}{K} \sum_k w_k, \qquad w_k = \frac{p(x, z_k)}{q(z_k \mid x)} $$

    Of one draw it is that of the ELBO. Burda, Grosse & Salakhutdinov 2015, arXiv:1509.00519.

    >>> importance_weighted(torch.tensor([[-1000.0], [-1000.0]]))
    tensor([-1000.])
    """
    return log_weights.logsumexp(0) - math.log(len(log_weights))
