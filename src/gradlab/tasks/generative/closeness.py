"""How close samples are to examples: figures that are cheap enough to be asked for during a training."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

_DIRECTIONS = 128
_NEAR = 3.0  # standard deviations
_FOUND = 0.25  # of a mode's share in the examples, from which on samples have it


def sliced_wasserstein(examples: Float[Tensor, "count features"], samples: Float[Tensor, "count features"]) -> float:
    r"""The Wasserstein distance along a line, over lines in random directions (Bonneel et al. 2015).

    $$ \Big( \mathbb E_{|u| = 1}\, \tfrac1n \sum_i \big( (u \cdot x)_{(i)} - (u \cdot y)_{(i)} \big)^2 \Big)^{1/2} $$

    On a line the best transport keeps the order, so that it is a matter of sorting. Directions come from torch's own
    generator. Moved by d, points have the distance |d| / √features.

    >>> x = torch.randn(50, 1)
    >>> round(sliced_wasserstein(x, x.flip(0) + 3), 5)
    3.0
    """
    directions = torch.randn(examples.shape[1], _DIRECTIONS, device=examples.device, dtype=examples.dtype)
    directions /= directions.norm(dim=0)
    real, drawn = ((points @ directions).sort(dim=0).values for points in (examples, samples))
    return (real - drawn).square().mean().sqrt().item()


def mode_figures(
    examples: Float[Tensor, "count features"],
    modes: Int64[Tensor, " count"],
    samples: Float[Tensor, "samples features"],
) -> dict[str, float]:
    r"""Which modes samples have: `modes`, how many; `near`, the share of samples within 3σ of one; and `coverage`.

    $$ \mathrm{coverage} = \sum_m \min(p_m, q_m) $$

    of the shares of examples and of samples within 3σ of each mode, whose mean and σ, the same in all directions, are
    those of its examples. It is high only if samples are near modes and of all of them.

    >>> x = torch.tensor([[0.0], [1.0], [50.0], [51.0]])
    >>> mode_figures(x, torch.tensor([0, 0, 1, 1]), torch.tensor([[0.5], [0.4], [0.6], [9.0]]))
    {'coverage': 0.5, 'modes': 1.0, 'near': 0.75}
    """
    present = torch.unique(modes)
    members = [examples[modes == mode] for mode in present]
    centres = torch.stack([points.mean(dim=0) for points in members])
    spreads = torch.stack([(p - p.mean(dim=0)).square().mean().sqrt() for p in members])
    real, drawn = (_shares(points, centres, spreads) for points in (examples, samples))
    found, common = drawn > _FOUND * real, torch.minimum(real, drawn)
    return {"coverage": common.sum().item(), "modes": float(found.sum()), "near": drawn.sum().item()}


def _shares(points: Tensor, centres: Tensor, spreads: Tensor) -> Float[Tensor, " modes"]:
    """Of all points, those whose nearest mode it is, and which are near it."""
    distance, nearest = (torch.cdist(points, centres) / spreads).min(dim=1)
    return torch.bincount(nearest[distance < _NEAR], minlength=len(centres)).double() / len(points)
