"""Pooling: one number for each window of a sequence or picture, and nothing to learn."""

from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import Family, block
from gradlab.nn.sizes import output_size
from gradlab.registry import Count, Natural

pools = Family("pool.{}2d", "kernel_size")
"""Those of pictures."""

Sizes = int | tuple[int, ...]


class Pool(nn.Module):
    """What all poolings have in common: their windows, which by default lie side by side."""

    axes: ClassVar[int]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0):
        super().__init__()
        self.kernel_size = self._each(kernel_size)
        self.stride = self._each(self.kernel_size if stride is None else stride)
        self.padding = self._each(padding)
        if any(p > k // 2 for p, k in zip(self.padding, self.kernel_size, strict=True)):
            kind = type(self).__name__
            raise GradlabError(
                f"{kind}: padding must be at most half of kernel_size, which is {kernel_size}, got {padding}."
            )

    def _each(self, size: Sizes) -> tuple[int, ...]:
        """One number for each axis; a single one stands for all."""
        return size if isinstance(size, tuple) else (size,) * self.axes

    def _must_fit(self, x: Tensor) -> None:
        for n, k, s, p in zip(x.shape[2:], self.kernel_size, self.stride, self.padding, strict=True):
            output_size(n, k, s, p)


class Pool1d(Pool):
    axes = 1

    def __init__(self, kernel_size: Count, stride: Count | None = None, padding: Natural = 0):
        super().__init__(kernel_size, stride, padding)


class Pool2d(Pool):
    """A pair is one for the height and one for the width."""

    axes = 2

    def __init__(
        self,
        kernel_size: Count | tuple[Count, Count],
        stride: Count | tuple[Count, Count] | None = None,
        padding: Natural | tuple[Natural, Natural] = 0,
    ):
        super().__init__(kernel_size, stride, padding)


@block(
    "pool.max1d",
    flops="O(n·c·m·k)",
    memory="O(n·c·m), the places of the largest",
    letters="n sequences of c channels, and m windows of k entries",
)
class MaxPool1d(Pool1d):
    r"""The largest entry of each window of a sequence.

    $$ y_{c,t} = \max_{u < k} \, x_{c,\, s t + u} $$

    What is found counts, and where in the window it is found does not. What is added at the ends is -∞, which is never
    the largest. Only the largest entry has a gradient; of several, the first.

    >>> import torch
    >>> MaxPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[3.0, 2.0]]]
    """

    def forward(self, x: Float[Tensor, "batch channels length"]) -> Float[Tensor, "batch channels places"]:
        self._must_fit(x)
        return F.max_pool1d(x, self.kernel_size, self.stride, self.padding)


@block(
    "pool.max2d",
    flops="O(n·c·m²·k²)",
    memory="O(n·c·m²), the places of the largest",
    letters="n pictures of c channels, and m × m windows of k × k entries",
)
class MaxPool2d(Pool2d):
    r"""The largest entry of each window of a picture.

    $$ y_{c,i,j} = \max_{u < k,\, v < k} \, x_{c,\, s i + u,\, s j + v} $$

    As `MaxPool1d`, on two axes.

    >>> import torch
    >>> MaxPool2d(2)(torch.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch channels rows columns"]:
        self._must_fit(x)
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding)


@block(
    "pool.average1d", flops="O(n·c·m·k)", memory="0", letters="n sequences of c channels, and m windows of k entries"
)
class AvgPool1d(Pool1d):
    r"""The mean of each window of a sequence.

    $$ y_{c,t} = \frac{1}{k} \sum_{u < k} x_{c,\, s t + u} $$

    It is a convolution with a kernel that is 1/k everywhere. Zeros that are added at the ends count as entries.

    >>> import torch
    >>> AvgPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[2.0, 1.0]]]
    """

    def forward(self, x: Float[Tensor, "batch channels length"]) -> Float[Tensor, "batch channels places"]:
        self._must_fit(x)
        return F.avg_pool1d(x, self.kernel_size, self.stride, self.padding)


@block(
    "pool.average2d",
    flops="O(n·c·m²·k²)",
    memory="0",
    letters="n pictures of c channels, and m × m windows of k × k entries",
)
class AvgPool2d(Pool2d):
    r"""The mean of each window of a picture.

    $$ y_{c,i,j} = \frac{1}{k^2} \sum_{u < k,\, v < k} x_{c,\, s i + u,\, s j + v} $$

    As `AvgPool1d`, on two axes.

    >>> import torch
    >>> AvgPool2d(2)(torch.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch channels rows columns"]:
        self._must_fit(x)
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)
