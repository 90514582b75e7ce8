"""Other ways to round the numbers of a computation, and the results that it has with them.

A sum that is 0 up to rounding is above a threshold or below it, and either is right: a step, an argmax, the slope of a
ReLU. So a result is compared with what the same computation has when its numbers are off by a few roundings.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

Rounding = Callable[[Any], Any]
"""An array of real numbers as it might be rounded as well; anything else stays as it is."""

TRIES = 32
"""Of five sums at a threshold, each combination of sides is missed by all tries in one of three cases at most."""


def exact(value: Any) -> Any:
    """No rounding at all."""
    return value


def independent_rounding(size: float, seed: int = 0) -> Rounding:
    """Each entry is larger or smaller by this share of it, whatever the others are."""
    generator = np.random.default_rng(seed)
    return _scale_entries(lambda value: 1 + size * generator.choice((-1, 1), value.shape))


def consistent_rounding(size: float, seed: int) -> Rounding:
    """Each entry is larger or smaller by this share of it, and entries of one size are so alike.

    Thus 0 remains 0, and two equal inputs remain equal: a tie that no rounding has made is no matter of rounding.
    """
    factor = np.uint64(np.random.default_rng(seed).integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1))

    def factors(value: Any) -> Any:
        bits = np.abs(np.asarray(value, np.float64)).view(np.uint64)
        with np.errstate(over="ignore"):
            mixed = (bits ^ (bits >> np.uint64(32))) * factor  # its highest bit depends on all bits
        return np.where(mixed >> np.uint64(63), 1 + size, 1 - size)

    return _scale_entries(factors)


def _scale_entries(factors: Callable[[Any], Any]) -> Rounding:
    def scale(value: Any) -> Any:
        return value * factors(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value

    return scale


def nearest_alternative(value: Tensor, alternatives: Sequence[Tensor]) -> Tensor:
    """For each entry, the one of the alternatives that is nearest to it."""
    stacked = torch.stack([alternative.to(torch.float64) for alternative in alternatives])
    distances = torch.where(stacked == value, 0.0, (stacked - value.to(torch.float64)).abs())
    nearest = distances.nan_to_num(torch.inf, torch.inf).argmin(0, keepdim=True)
    return stacked.gather(0, nearest)[0]


def nearest_in_range(value: Tensor, alternatives: Sequence[Tensor]) -> Tensor:
    """For each entry, the nearest number from the least of the alternatives to the largest.

    A gradient is a sum over kinks, and each of them may be on either side.
    """
    stacked = torch.stack([alternative.to(torch.float64) for alternative in alternatives])
    return value.to(torch.float64).clamp(stacked.amin(0), stacked.amax(0))
