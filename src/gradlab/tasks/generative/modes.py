"""Which modes of the examples samples have."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

_NEAR = 3.0  # standard deviations
_FOUND = 0.25  # of a mode's share in the examples, from which on samples have it


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
