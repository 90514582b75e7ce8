"""How far two sets of points lie apart, seen from many directions. Rabin et al. 2012; Bonneel et al. 2015."""

import torch
from jaxtyping import Float
from torch import Tensor

DIRECTIONS = 200


def sliced_wasserstein(
    first: Float[Tensor, "n dim"], second: Float[Tensor, "n dim"], directions: int = DIRECTIONS
) -> float:
    r"""The 1-Wasserstein distance of the projections of two sets of as many points, in the mean over directions.

    $$ \mathrm{SW}_1 = \mathbb E_θ\, \tfrac 1 n \sum_i \bigl| (X θ)_{(i)} - (Y θ)_{(i)} \bigr| $$

    On a line, sorted points are moved each to the other in their order. The directions are the same each time.

    >>> points = torch.arange(6.0).reshape(3, 2)
    >>> sliced_wasserstein(points, points.flip(0))
    0.0
    """
    draw = torch.Generator().manual_seed(0)
    theta = torch.randn(first.shape[1], directions, generator=draw, dtype=torch.float64)
    theta = (theta / theta.norm(dim=0)).to(first.device)
    ordered = [(points.double() @ theta).sort(0).values for points in (first, second)]
    return float((ordered[0] - ordered[1]).abs().mean())
