"""Filters of pictures: convolutions whose kernel is known, and not learned.

Each channel is filtered alone, and the kernel is not flipped. So that a picture keeps its size, its border is mirrored
about the outermost pixels (c b | a b c), as OpenCV does.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import ShapeError, block

Rows = list[list[int]] | list[list[float]]


class Filter(nn.Module):
    """One kernel for every channel of every picture: odd numbers of rows and columns, and what it is divided by.

    >>> laplace = Filter([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    >>> squares = torch.arange(4.0).square().expand(1, 3, 4, 4)
    >>> laplace(squares)[0, :, 1, 1]  # the curvature, in each of three channels
    tensor([2., 2., 2.])
    """

    kernel: Tensor

    def __init__(self, kernel: Rows | Tensor, divisor: int = 1):
        super().__init__()
        self.divisor = divisor
        # Whole numbers stay exact when the model is converted to another dtype.
        self.register_buffer("kernel", torch.as_tensor(kernel).detach().clone(), persistent=False)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch channels height width"]:
        down, across = (size // 2 for size in self.kernel.shape)
        if x.shape[2] <= down or x.shape[3] <= across:
            least, got = f"{down + 1}×{across + 1}", "×".join(map(str, x.shape[2:]))
            raise ShapeError(
                f"{type(self).__name__} mirrors the border, which takes {least} pixels or more, got {got}."
            )
        channels = x.shape[1]
        weight = (self.kernel.to(x.dtype) / self.divisor).expand(channels, 1, -1, -1)
        return F.conv2d(F.pad(x, (across, across, down, down), mode="reflect"), weight, groups=channels)


@block("filter.mean_blur", flops="50·n·c·h·w", memory="O(n·c·h·w)", letters="n pictures of c channels and h × w pixels")
class MeanBlur(Filter):
    r"""The mean of the 5 × 5 pixels around each one.

    $$ y_{i,j} = \frac{1}{25} \sum_{u=-2}^{2} \sum_{v=-2}^{2} x_{i+u,\, j+v} $$

    The kernel sums to 1: brightness stays, and a constant picture is not changed.

    >>> MeanBlur()(25 * torch.eye(5)[None, None])[0, 0, 2].tolist()
    [5.0, 5.0, 5.0, 5.0, 5.0]
    """

    def __init__(self) -> None:
        super().__init__([[1] * 5] * 5, divisor=25)


@block(
    "filter.gaussian_blur", flops="50·n·c·h·w", memory="O(n·c·h·w)", letters="n pictures of c channels and h × w pixels"
)
class GaussianBlur(Filter):
    r"""A mean of 5 × 5 pixels in which near ones count more: a normal density with σ = 1, summed over each pixel.

    $$ K = \frac{1}{273} \begin{pmatrix} 1 & 4 & 7 & 4 & 1 \\ 4 & 16 & 26 & 16 & 4 \\ 7 & 26 & 41 & 26 & 7
       \\ 4 & 16 & 26 & 16 & 4 \\ 1 & 4 & 7 & 4 & 1 \end{pmatrix} $$

    Its whole numbers sum to 273, so a constant picture is not changed.

    >>> dot = torch.zeros(1, 1, 5, 5)
    >>> dot[..., 2, 2] = 273
    >>> GaussianBlur()(dot)[0, 0, 2, 2].round().item()
    41.0
    """

    def __init__(self) -> None:
        super().__init__(
            [[1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [4, 16, 26, 16, 4], [1, 4, 7, 4, 1]], divisor=273
        )


@block("filter.sharpen", flops="18·n·c·h·w", memory="O(n·c·h·w)", letters="n pictures of c channels and h × w pixels")
class Sharpen(Filter):
    r"""Each pixel, moved away from the mean of its four neighbours.

    $$ K = \begin{pmatrix} 0 & -1 & 0 \\ -1 & 5 & -1 \\ 0 & -1 & 0 \end{pmatrix}, \qquad
       y = x + 4 \, (x - \text{mean of the four neighbours}) $$

    The kernel sums to 1. The result may leave the range of the picture's values.

    >>> Sharpen()(torch.eye(3)[None, None])[0, 0].tolist()
    [[5.0, -3.0, 0.0], [-3.0, 5.0, -3.0], [0.0, -3.0, 5.0]]
    """

    def __init__(self) -> None:
        super().__init__([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])


@block("filter.sobel", flops="18·n·c·h·w", memory="O(n·c·h·w)", letters="n pictures of c channels and h × w pixels")
class Sobel(Filter):
    r"""The slope of brightness along x, to the right, or along y, downwards; 8 for a slope of 1 per pixel.

    $$ K_x = \begin{pmatrix} -1 & 0 & 1 \\ -2 & 0 & 2 \\ -1 & 0 & 1 \end{pmatrix}, \qquad K_y = K_x^\top $$

    The slope along x answers to *vertical* edges, and the one along y to horizontal ones. The kernel sums to 0: where
    the picture is constant, so is the result, and it is 0.

    >>> bright_at_the_right = torch.tensor([[0.0, 0.0, 1.0, 1.0]] * 3)[None, None]
    >>> Sobel("x")(bright_at_the_right)[0, 0, 1].tolist(), Sobel("y")(bright_at_the_right)[0, 0, 1].tolist()
    ([0.0, 4.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, direction: Literal["x", "y"]):
        along_x = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
        super().__init__(along_x if direction == "x" else [list(column) for column in zip(*along_x, strict=True)])
        self.direction = direction
