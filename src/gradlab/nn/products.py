"""Products of matrices whose sums are kept as they are made."""

import torch
from torch import Tensor


def wide_product(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """A product of narrow numbers in the type that it is summed in."""
    if left.is_cuda and left.dtype != dtype:
        return torch.mm(left, right, out_dtype=dtype)
    return left.to(dtype) @ right.to(dtype)
