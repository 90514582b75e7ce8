"""Numbers that look random and depend on nothing but what they are made from."""

import numpy as np
from jaxtyping import Int64
from torch import Tensor


def key(*parts: int) -> int:
    """A number from 0 to 2⁶³ − 1 for each tuple of whole numbers; neighbouring ones give unrelated keys.

    >>> key(1, 2) == key(1, 2), key(1, 2) == key(2, 1)
    (True, False)
    """
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0]) >> 1


def mixed(numbers: Int64[Tensor, "*any"]) -> Int64[Tensor, "*any"]:
    """A hash of each number, from 0 on: the finaliser of SplitMix64 (Steele et al. 2014), whose products wrap round."""
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15)):
        numbers = (numbers ^ _shifted(numbers, shift)) * factor
    return _shifted(numbers ^ _shifted(numbers, 31), 1)


def _shifted(numbers: Int64[Tensor, "*any"], places: int) -> Int64[Tensor, "*any"]:
    """To the right, with zeros from the left; torch repeats the sign."""
    return (numbers >> places) & ((1 << (64 - places)) - 1)
