"""Convolution and pooling: the same small map at every place of a picture.

As everywhere in deep learning, convolution here does not flip the kernel; in mathematics it is cross-correlation.
Pictures have shape (batch, channels, height, width), kernels (outputs, channels / groups, height, width).
"""

from typing import Literal

import numpy as np

from gradlab.scratch import gates
from gradlab.scratch.functions import constant, pad, stack
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor, apply

Pair = tuple[int, int]


def output_size(n: int, kernel: int, stride: int = 1, padding: int = 0, dilation: int = 1) -> int:
    """⌊(n + 2p - d(k - 1) - 1) / s⌋ + 1 places of a kernel of k entries, d apart, p zeros at either side.

    >>> output_size(28, kernel=5), output_size(28, kernel=5, padding=2, stride=2)
    (24, 14)
    """
    reach = dilation * (kernel - 1) + 1
    if n + 2 * padding < reach:
        raise ValueError(f"A kernel that reaches over {reach} entries does not fit into {n} with padding {padding}.")
    return (n + 2 * padding - reach) // stride + 1


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> Tensor:
    """y[o, i, j] = b[o] + Σ_{c,a,b} W[o, c, a, b] x[c, i·s + a·d, j·s + b·d], as one product of matrices.

    The patch under each place becomes a column, each kernel a row ("im2col"). With groups, the channels are cut into as
    many parts, and each part of the outputs sees its own part of the channels alone.
    """
    outputs, channels, *size = weight.shape
    patches = windows(x, (size[0], size[1]), stride=stride, padding=padding, dilation=dilation)
    batch, _, height, width, *_ = patches.shape
    columns = patches.reshape(batch, groups, channels, height * width, -1).transpose(0, 1, 2, 4, 3)
    columns = columns.reshape(batch, groups, -1, height * width)
    kernels = weight.reshape(groups, outputs // groups, -1)
    y = (kernels @ columns).reshape(batch, outputs, height, width)
    return y if bias is None else y + bias.reshape(-1, 1, 1)


def conv2d_by_hand(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: Pair = (1, 1), padding: Pair = (0, 0)
) -> Tensor:
    """The same as one gate, whose derivatives are written out; a stride leaves places out."""
    y = apply(gates.correlate, _framed(x, padding, 0.0), weight)[:, :, :: stride[0], :: stride[1]]
    return y if bias is None else y + bias.reshape(-1, 1, 1)


def conv2d_by_loops(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> Tensor:
    """The sum of `conv2d` as the textbook has it: a loop over the outputs and another over the places."""
    outputs, channels, *size = weight.shape
    places = [output_size(*a) for a in zip(x.shape[2:], size, stride, padding, dilation, strict=True)]
    padded = _framed(x, padding, 0.0)
    maps = []
    for o in range(outputs):
        first = o // (outputs // groups) * channels
        for i, j in np.ndindex(*places):
            rows, columns = (
                slice(at * s, at * s + d * (k - 1) + 1, d)
                for at, s, d, k in zip((i, j), stride, dilation, size, strict=True)
            )
            patch = padded[:, first : first + channels, rows, columns]
            y = (weight[o] * patch).sum(axis=(1, 2, 3))
            maps.append(y if bias is None else y + bias[o])
    return stack(maps, axis=1).reshape(len(x), outputs, *places)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """y[o, t] = b[o] + Σ_{c,a} W[o, c, a] x[c, t·s + a·d]: the convolution of pictures that are one pixel high."""
    batch, channels, length = x.shape
    outputs, channels_of_one, size = weight.shape
    picture, kernel = x.reshape(batch, channels, 1, length), weight.reshape(outputs, channels_of_one, 1, size)
    y = conv2d(picture, kernel, bias, stride=(1, stride), padding=(0, padding), dilation=(1, dilation), groups=groups)
    return y.reshape(batch, outputs, -1)


def max_pool2d(x: Tensor, size: Pair, *, stride: Pair | None = None, padding: Pair = (0, 0)) -> Tensor:
    """y[c, i, j] = max of the window at (i, j). The frame is -∞, which never wins; the stride is the window's size."""
    patches = windows(x, size, stride=stride or size, padding=padding, fill=-np.inf)
    return patches.reshape(*patches.shape[:4], -1).max(axis=-1)


def average_pool2d(x: Tensor, size: Pair, *, stride: Pair | None = None, padding: Pair = (0, 0)) -> Tensor:
    """y[c, i, j] = mean of the window at (i, j), in which the zeros of the frame count as entries."""
    return windows(x, size, stride=stride or size, padding=padding).mean(axis=(-1, -2))


def max_pool1d(x: Tensor, size: int, *, stride: int | None = None, padding: int = 0) -> Tensor:
    """y[c, t] = max of the window at t: the pooling of pictures that are one pixel high."""
    y = max_pool2d(_one_pixel_high(x), (1, size), stride=(1, stride or size), padding=(0, padding))
    return y.reshape(*x.shape[:2], -1)


def average_pool1d(x: Tensor, size: int, *, stride: int | None = None, padding: int = 0) -> Tensor:
    """y[c, t] = mean of the window at t, likewise."""
    y = average_pool2d(_one_pixel_high(x), (1, size), stride=(1, stride or size), padding=(0, padding))
    return y.reshape(*x.shape[:2], -1)


def _one_pixel_high(x: Tensor) -> Tensor:
    batch, channels, length = x.shape
    return x.reshape(batch, channels, 1, length)


def filtered(x: Tensor, kernel: Array) -> Tensor:
    """A kernel that is known, over each channel alone, with the border mirrored: the picture keeps its size."""
    batch, channels, height, width = x.shape
    reach = len(kernel) // 2
    pictures = x.reshape(batch * channels, 1, height, width)
    y = conv2d(continued(pictures, (reach, reach), "reflect"), constant(kernel[None, None]))
    return y.reshape(*x.shape)


def mean_blur(x: Tensor) -> Tensor:
    """The mean of 5 × 5 pixels."""
    return filtered(x, np.ones((5, 5)) / 25)


def gaussian_blur(x: Tensor) -> Tensor:
    """A mean of 5 × 5 pixels in which near ones count more."""
    half = np.array([[1, 4, 7, 4, 1], [4, 16, 26, 16, 4]])
    return filtered(x, np.vstack([half, [[7, 26, 41, 26, 7]], half[::-1]]) / 273)


def sharpen(x: Tensor) -> Tensor:
    """5 times each pixel, less its four neighbours."""
    return filtered(x, np.array([[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]]))


def sobel(x: Tensor, direction: str) -> Tensor:
    """Differences along a direction, smoothed across it."""
    across, along = [1.0, 2, 1], [-1.0, 0, 1]
    return filtered(x, np.outer(across, along) if direction == "x" else np.outer(along, across))


def windows(
    x: Tensor, size: Pair, *, stride: Pair, padding: Pair = (0, 0), dilation: Pair = (1, 1), fill: float = 0.0
) -> Tensor:
    """The patch of x under each place of a window: shape (batch, channels, places down, places across, *size).

    It is one gather; since the windows overlap, its gate adds up the gradients of a pixel that many of them see.
    """
    axes = zip(x.shape[2:], size, stride, padding, dilation, strict=True)
    # Positions in the padded picture, for either axis: a row for each place, a column for each entry of the kernel.
    rows, columns = (s * np.arange(output_size(n, k, s, p, d))[:, None] + d * np.arange(k) for n, k, s, p, d in axes)
    return _framed(x, padding, fill)[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def _framed(x: Tensor, padding: Pair, fill: float) -> Tensor:
    down, across = padding
    return pad(x, [(0, 0), (0, 0), (down, down), (across, across)], fill) if any(padding) else x


def continued(x: Tensor, padding: Pair, how: Literal["wrap", "reflect"]) -> Tensor:
    """A frame of the picture's own pixels: from the opposite side, or mirrored about the outermost ones."""
    rows, columns = (np.pad(np.arange(n), p, mode=how) for n, p in zip(x.shape[2:], padding, strict=True))
    return x[:, :, rows[:, None], columns]
