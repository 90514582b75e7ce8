"""The order in which training sees its examples."""

import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.hashing import key


def permutation(count: int, seed: int, epoch: int) -> Int64[Tensor, " count"]:
    """A shuffle of range(count) that depends on nothing but (seed, epoch): position in the data is two integers.

    >>> torch.equal(permutation(9, seed=1, epoch=2), permutation(9, seed=1, epoch=2))
    True
    """
    return torch.randperm(count, generator=torch.Generator().manual_seed(key(seed, epoch)))
