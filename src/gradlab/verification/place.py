"""Where a case runs and in which type its numbers are, and how far results may be off there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

import torch

from gradlab.errors import GradlabError

DType = Literal["float64", "float32", "bfloat16", "float16"]
DTYPES: tuple[str, ...] = get_args(DType)
ROUNDINGS = 8
"""How many, one behind the other, may lie between an input of a block and a gradient."""
KERNEL_ROUNDINGS = 2
"""The same of a kernel, whose numbers stay in float32 until they are factors of a product, or its results."""


@dataclass(frozen=True)
class Place:
    """A device and a type. In float64 a check has its own tolerance: what it finds there is a wrong equation."""

    device: str = "cpu"
    dtype: torch.dtype = torch.float64

    @classmethod
    def of(cls, device: str, dtype: str) -> "Place":
        if dtype not in DTYPES:
            raise GradlabError(f"There is no dtype {dtype!r} to verify in. Valid: {', '.join(DTYPES)}.")
        return cls(device, getattr(torch, dtype))

    @property
    def is_exact(self) -> bool:
        return self.dtype == torch.float64

    def tolerance(self, exact: float, roundings: int) -> float:
        """Of the largest entry: each rounding adds ε, and functions of a GPU (exp, tanh) are off by some ε of float32.

        >>> dtypes = torch.float64, torch.float32, torch.float16, torch.bfloat16
        >>> [f"{Place(dtype=dtype).tolerance(1e-9, ROUNDINGS):.0e}" for dtype in dtypes]
        ['1e-09', '1e-06', '8e-03', '6e-02']
        """
        if self.is_exact:
            return exact
        if self.device != "cpu" and self.dtype == torch.float32:
            roundings *= 4
        return roundings * torch.finfo(self.dtype).eps

    def growth(self, length: int) -> float:
        """By what factor a sum of this length may be further off: n roundings of a sum add √n ε.

        Of numbers in half types sums are in float32, in PyTorch and in kernels alike, so that they add next to nothing.

        >>> [f"{Place(dtype=dtype).growth(1000):.3g}" for dtype in (torch.float64, torch.float32, torch.bfloat16)]
        ['1', '32.6', '1']
        """
        if self.is_exact:
            return 1.0
        return 1 + sqrt(length) * torch.finfo(torch.float32).eps / torch.finfo(self.dtype).eps

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What is made is made on the device, and products of float32 are not rounded to TF32."""
        if self == HOME:
            yield
            return
        before, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, False
        try:
            with torch.device(self.device):
                yield
        finally:
            torch.backends.cudnn.allow_tf32 = before


HOME = Place()
