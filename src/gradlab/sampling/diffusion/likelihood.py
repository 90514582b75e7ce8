"""How probable data are to a trained network: noise has a density, and the way to it is a smooth map."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.diffusion import Level, Process, Target, reading

Said = Callable[[Tensor, Level], Tensor]
"""What the network says of noisy data, as it was trained to."""

Trace = Literal["exact", "estimated"]

_FINE, _LEAST, _FLOOR = 1000, 0.003, 0.05  # times looked at; the least noise; where α counts no more


def log_likelihood(
    said: Said,
    kind: Target,
    x: Float[Tensor, "batch *shape"],
    levels: Sequence[Level],
    *,
    trace: Trace = "exact",
) -> Float[Tensor, " batch"]:
    r"""$\log p(x)$ in nats, along the ordinary differential equation from data to noise.

    $$ dx = \hat x_0 \, d\alpha + \hat\varepsilon \, d\sigma, \qquad
       \log p(x) = \log \mathcal N(x_1; 0, \sigma_1^2) + \int \nabla \cdot \frac{dx}{dt} \, dt $$

    `levels` go from the first, at which there is hardly any noise, to the last; steps are Heun's. The divergence is a
    derivative for each dimension, or `estimated` by one along a random direction of ±1 (Hutchinson), whose mean it is.
    Chen et al. 2018, arXiv:1806.07366; Song et al. 2021, arXiv:2011.13456.

    >>> from gradlab.nn.diffusion import VP
    >>> levels = [VP().level(t) for t in (0.0, 0.5, 1.0)]
    >>> standard = lambda x, level: x * level.sigma  # the noise in data that are standard normal
    >>> torch.round(log_likelihood(standard, "noise", torch.zeros(1, 2), levels), decimals=3)  # -log 2π
    tensor([-1.8380])
    """
    with torch.inference_mode(False):
        x = x.clone()  # one that can have gradients
        directions = [torch.randint_like(x, 2) * 2 - 1] if trace == "estimated" else _axes(x)
        change = x.new_zeros(len(x))
        for cleaner, noisier in pairwise(levels):
            steps = noisier.alpha - cleaner.alpha, noisier.sigma - cleaner.sigma
            move, growth = _slope(said, kind, x, cleaner, steps, directions)
            move_there, growth_there = _slope(said, kind, x + move, noisier, steps, directions)
            x = x + (move + move_there) / 2
            change = change + (growth + growth_there) / 2
        sigma, dim = levels[-1].sigma, x[0].numel()
        squares: Tensor = x.flatten(1).square().sum(1)
        density = -squares / (2 * sigma**2) - dim * math.log(sigma * math.sqrt(2 * math.pi))
        total: Tensor = density + change
        return total


def way_to_noise(process: Process, steps: int) -> list[Level]:
    r"""From data to noise in about so many steps, of even lengths in log σ/(α + 0.05), in which most happens evenly.

    They begin where noise is so little that nobody would see it in data of spread 1. A short chain has fewer levels.

    >>> from gradlab.nn.diffusion import VE
    >>> [round(level.sigma, 2) for level in way_to_noise(VE(), 4)]
    [0.01, 0.08, 0.71, 6.03, 50.0]
    """
    fine = [process.level((i / _FINE) ** 2) for i in range(1, _FINE + 1)]
    fine = [level for level in fine if level.sigma >= _LEAST]
    places = [math.log(level.sigma / (level.alpha + _FLOOR)) for level in fine]
    wanted = [places[0] + (places[-1] - places[0]) * i / steps for i in range(steps + 1)]
    chosen = [fine[min(bisect_left(places, place - 1e-9), len(fine) - 1)] for place in wanted]
    return list(dict.fromkeys(chosen))


def _slope(
    said: Said, kind: Target, x: Tensor, level: Level, steps: tuple[float, float], directions: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """How x moves over steps of α and σ, and the divergence of that: both are linear in what the network says."""
    part = reading(kind, level)
    own = steps[0] * part.data_x + steps[1] * part.noise_x
    answer = steps[0] * part.data_f + steps[1] * part.noise_f
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        output = said(x, level)
        trace = x.new_zeros(len(x))
        for i, direction in enumerate(directions):
            last = i == len(directions) - 1
            (pulled,) = torch.autograd.grad(output, x, direction.expand_as(x), retain_graph=not last)
            trace = trace + (pulled * direction).flatten(1).sum(1)
    return (own * x + answer * output).detach(), own * x[0].numel() + answer * trace


def _axes(x: Tensor) -> list[Tensor]:
    """A direction along each dimension of an example."""
    size = x[0].numel()
    return list(torch.eye(size, dtype=x.dtype, device=x.device).reshape(size, *x.shape[1:]))
