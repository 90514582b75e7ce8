"""How many samples look real, and how much of what is real they cover. Kynkäänniemi et al. 2019, arXiv:1904.06991."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Features = Float[Tensor, "n dim"]

NEIGHBOURS = 3


class Coverage(NamedTuple):
    """Both from 0 to 1, the higher the better."""

    precision: float
    recall: float


def precision_recall(real: Features, drawn: Features, neighbours: int = NEIGHBOURS) -> Coverage:
    r"""The share of samples inside the manifold of real features, and of real features inside that of the samples.

    The manifold of a set is a union of balls, one around each member, as wide as its k-th neighbour is far:
    $\{ x : |x - x_i| \le |x_i - \mathrm{NN}_k(x_i)| \text{ for some } i \}$.

    >>> line = torch.arange(10.0)[:, None]
    >>> precision_recall(line, line[:5], neighbours=1)
    Coverage(precision=1.0, recall=0.6)
    """
    precision = within(drawn, real, neighbours).double().mean().item()
    return Coverage(precision, within(real, drawn, neighbours).double().mean().item())


def within(points: Features, members: Features, neighbours: int) -> Bool[Tensor, " n"]:
    """Which points lie in the manifold of some members."""
    # Exact distances: those by a product of matrices find a point at some distance from itself.
    exact = "donot_use_mm_for_euclid_dist"
    own = torch.cdist(members, members, compute_mode=exact)
    radius = own.kthvalue(neighbours + 1).values  # the nearest to each is itself
    return (torch.cdist(points, members, compute_mode=exact) <= radius).any(1)
