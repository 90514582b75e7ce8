"""Universal approximation, done: networks within a wanted error of any continuous function on an interval."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.expressiveness.layers import relu_layers
from gradlab.maths.expressiveness.modulus import Function, spread_evenly, uniform_distance
from gradlab.maths.expressiveness.piecewise import interpolating_network

_BETWEEN = 16  # points of each piece at which the error is looked for


@dataclass(frozen=True)
class Approximation:
    """A network from (batch, 1) to (batch, 1), and its largest error on the interval."""

    network: nn.Sequential
    error: float
    pieces: int


def interpolate(f: Function, low: float, high: float, pieces: int) -> Approximation:
    r"""One hidden layer through so many equal pieces of an interval. Its error is at most what f varies over a piece.

    $$ \max_x |f(x) - g(x)| \le \omega_f\left(\frac{b - a}{N}\right) $$

    >>> [round(interpolate(torch.sin, 0.0, 3.14159, n).error, 4) for n in (4, 8, 16)]  # a quarter each time
    [0.0703, 0.0188, 0.0048]
    """
    if pieces < 1:
        raise GradlabError(f"pieces must be at least 1, got {pieces}.")
    knots = spread_evenly(low, high, pieces + 1)
    network = interpolating_network(knots, f(knots).detach())
    return Approximation(network, largest_error(f, network, low, high, pieces), pieces)


def approximate(f: Function, low: float, high: float, error: float) -> Approximation:
    r"""One hidden layer within an error of a continuous function, everywhere on an interval.

    $$ N = \left\lceil \frac{b - a}{\delta(\varepsilon)} \right\rceil $$

    The width follows from uniform continuity: pieces as short as `uniform_distance` says. Smooth functions would do
    with fewer.

    >>> good = approximate(torch.sin, 0.0, 6.0, 0.1)
    >>> good.error <= 0.1, good.network[0].out_features
    (True, 67)
    """
    return interpolate(f, low, high, ceil((high - low) / uniform_distance(f, low, high, error)))


def approximate_deep(f: Function, low: float, high: float, pieces: int) -> Approximation:
    r"""The same by depth: two units a layer, and two hidden layers for each piece.

    A zigzag z of slopes ±M meets f at the ends of all pieces. It is made from left to right by lines through these
    ends, each of which cuts what is there, never to its left, since M is no less than any slope of f:

    $$ z \leftarrow \min(z,\; f(t_k) - M (x - t_k)), \qquad z \leftarrow \max(z,\; f(t_k) + M (x - t_k)) $$

    A layer has one unit for x and one for the cut: max(z, l) = l + relu(z - l), min(z, l) = l - relu(l - z). Any number
    of inputs would do with one unit more than inputs (Hanin & Sellke 2017, arXiv:1710.11278); here there is one.

    >>> narrow = approximate_deep(torch.sin, 0.0, 3.0, 64)
    >>> narrow.error < 0.05, {layer.out_features for layer in narrow.network[:-1:2]}
    (True, {2})
    """
    if pieces < 1:
        raise GradlabError(f"pieces must be at least 1, got {pieces}.")
    knots = spread_evenly(low, high, pieces + 1)
    values = f(knots).detach()
    steepest = max(1e-3, float((values.diff() / knots.diff()).abs().max()) * (1 + 1e-9))
    # Of each line l(x) = slope (x - low) + offset; the zigzag begins along the first.
    slopes = torch.tensor([steepest, *[-steepest, steepest] * pieces], dtype=torch.float64)
    ends = torch.tensor([0, *(k for k in range(1, pieces + 1) for _ in range(2))])
    offsets = values[ends] - slopes * (knots[ends] - low)
    network = relu_layers(_cuts(slopes, offsets, low))
    return Approximation(network, largest_error(f, network, low, high, pieces), pieces)


def _cuts(slopes: Tensor, offsets: Tensor, low: float) -> list[tuple[Tensor, Tensor]]:
    """The affine maps between hidden layers (x - low, ±(z - l)): each finds z, and what is to be cut next."""
    maps = []
    state = torch.tensor([[1.0], [slopes[0]]], dtype=torch.float64)  # x - low, and z, of what the last layer has
    shift = torch.tensor([-low, offsets[0] - slopes[0] * low], dtype=torch.float64)
    for slope, offset in zip(slopes[1:], offsets[1:], strict=True):
        sign = 1.0 if slope > 0 else -1.0  # rising lines are a maximum, falling ones a minimum
        cut = torch.tensor([[1.0, 0.0], [-sign * slope, sign]], dtype=torch.float64)
        maps.append((cut @ state, cut @ shift - torch.stack([torch.zeros_like(offset), sign * offset])))
        state = torch.tensor([[1.0, 0.0], [slope, sign]], dtype=torch.float64)
        shift = torch.stack([torch.zeros_like(offset), offset])
    return [*maps, (state[1:], shift[1:])]


@torch.no_grad()
def largest_error(f: Function, network: Any, low: float, high: float, pieces: int) -> float:
    """The largest error at many points of each piece."""
    x = spread_evenly(low, high, _BETWEEN * pieces + 1)
    return float((network(x[:, None])[:, 0] - f(x)).abs().max())
