"""The order in which training sees its examples."""

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor


def permutation(count: int, seed: int, epoch: int) -> Int64[Tensor, " count"]:
    """A shuffle of range(count) that depends on nothing but (seed, epoch): position in the data is two integers.

    >>> torch.equal(permutation(9, seed=1, epoch=2), permutation(9, seed=1, epoch=2))
    True
    """
    # SeedSequence mixes the pair well, so that neighbouring seeds and epochs give unrelated orders.
    mixed = int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0]) >> 1
    return torch.randperm(count, generator=torch.Generator().manual_seed(mixed))
