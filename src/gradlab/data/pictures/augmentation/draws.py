"""Random numbers of single examples: hashes of their keys, the same bits on every device and in every batch."""

from functools import cache

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from gradlab.data.batch import sent
from gradlab.data.hashing import mixed

_STEP = -0x61C8864680B583EB  # 2⁶⁴ divided by the golden ratio, as SplitMix64 steps from number to number
_QUANTILES = 4096


def numbers(keys: Int64[Tensor, " rows"], count: int) -> Int64[Tensor, "count rows"]:
    """So many whole numbers from 0 on for each key; the first ones are the same, however many are asked for."""
    steps = torch.arange(1, count + 1, device=keys.device) * _STEP
    return mixed(keys + steps[:, None])


def uniform(keys: Int64[Tensor, " rows"], count: int) -> Float64[Tensor, "count rows"]:
    """So many numbers from 0 up to 1, without it, for each key.

    >>> torch.equal(uniform(torch.tensor([7, 8]), 5)[:3, 1:], uniform(torch.tensor([8]), 3))
    True
    """
    return (numbers(keys, count) >> 10).double() * 2.0**-53


def beta(uniform: Float64[Tensor, " rows"], alpha: float) -> Float64[Tensor, " rows"]:
    """Numbers of Beta(α, α), of uniform ones: by a table of its quantiles, which is the same on every device."""
    return _quantiles(alpha, uniform.device)[(uniform * _QUANTILES).long()]


@cache
def _quantiles(alpha: float, device: torch.device) -> Float64[Tensor, " quantiles"]:
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # 0.1 s, for those who mix alone

    middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return sent(torch.from_numpy(betaincinv(alpha, alpha, middles)), device)
