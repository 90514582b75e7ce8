"""Convolutions: dense layers that see a small window, with the same weights at every place.

As everywhere in deep learning, the kernel is not flipped: mathematics calls this cross-correlation. A picture that is
moved gives a result that is moved (equivariance), but for what happens at the border.
"""

from math import prod
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError, block
from gradlab.nn.plain import is_plain
from gradlab.nn.sizes import output_size
from gradlab.registry import Count, Natural

Pair = Count | tuple[Count, Count]
PaddingMode = Literal["zeros", "circular"]


@block(
    "conv.conv1d",
    flops="2·n·m·k·c·h/g",
    memory="0, all that is kept is the input, or its circular continuation",
    letters="n sequences of c channels, h outputs, g groups, and m places of k entries",
)
class Conv1d(nn.Conv1d):
    r"""A small kernel that slides along a sequence, and sums over channels.

    $$ y_{o,t} = b_o + \sum_{c,u} W_{o,c,u} \, x_{c,\, s t + d u} $$

    s is `stride` and d `dilation`; x has `padding` more entries at either side, which are zeros or, if it is circular,
    those from the other end. With `groups`, the channels are cut into as many parts, and so are the outputs: each part
    sees its own channels alone. `as_matrix` is the same map as a dense layer. Dumoulin & Visin 2016, arXiv:1603.07285.

    >>> layer = Conv1d(1, 1, kernel_size=3, bias=False)
    >>> _ = layer.load_state_dict({"weight": torch.tensor([[[1.0, 2.0, 4.0]]])})
    >>> layer(torch.tensor([[[1.0, 0.0, 0.0, 1.0]]])).tolist()
    [[[1.0, 4.0]]]
    >>> layer.as_matrix(4).tolist()
    [[1.0, 2.0, 4.0, 0.0], [0.0, 1.0, 2.0, 4.0]]
    """

    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: Count,
        out_channels: Count,
        kernel_size: Count,
        stride: Count = 1,
        padding: Natural = 0,
        dilation: Count = 1,
        groups: Count = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
    ):
        _check_groups("conv.conv1d", in_channels, out_channels, groups)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode=padding_mode
        )

    def forward(
        self, x: Float[Tensor, "batch {self.in_channels} length"]
    ) -> Float[Tensor, "batch {self.out_channels} places"]:
        _must_fit(self, x)
        return super().forward(x)

    def as_matrix(self, length: int) -> Float[Tensor, "outputs inputs"]:
        """A with y = A x + b, for x and y laid out channel after channel. With one channel it is a Toeplitz band."""
        return _as_matrix(self, length)


@block(
    "conv.conv2d",
    flops="2·n·m²·k²·c·h/g",
    memory="0, all that is kept is the input, or its circular continuation",
    letters="n pictures of c channels, h outputs, g groups, and m × m places of k × k entries",
)
class Conv2d(nn.Conv2d):
    r"""A small kernel that slides over a picture, and sums over channels.

    $$ y_{o,i,j} = b_o + \sum_{c,u,v} W_{o,c,u,v} \, x_{c,\, s i + d u,\, s j + d v} $$

    The settings are those of `Conv1d`; a pair is one for the height and one for the width. There are h (c k²/g + 1)
    parameters, however large the picture is. One kernel shared by all channels, with k² weights, is a layer of one
    channel on their sum: `Conv2d(1, h, k)(x.sum(1, keepdim=True))`.

    >>> layer = Conv2d(1, 1, kernel_size=2, bias=False)
    >>> _ = layer.load_state_dict({"weight": torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])})
    >>> layer(torch.eye(3)[None, None]).tolist()
    [[[[5.0, 3.0], [2.0, 5.0]]]]
    """

    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: Count,
        out_channels: Count,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Natural | tuple[Natural, Natural] = 0,
        dilation: Pair = 1,
        groups: Count = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
    ):
        _check_groups("conv.conv2d", in_channels, out_channels, groups)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode=padding_mode
        )

    def forward(
        self, x: Float[Tensor, "batch {self.in_channels} height width"]
    ) -> Float[Tensor, "batch {self.out_channels} rows columns"]:
        _must_fit(self, x)
        return super().forward(x)

    def as_matrix(self, height: int, width: int) -> Float[Tensor, "outputs inputs"]:
        """A with y = A x + b, for x and y laid out channel after channel, row after row."""
        return _as_matrix(self, height, width)


def without_bias(conv: Conv2d, x: Tensor) -> tuple[Tensor, Tensor]:
    """A convolution in two parts, of which the second, a number for each channel, is still to be added.

    On a GPU a bias is a pass over all places by itself, unless it goes with something else that is added. A convolution
    that somebody listens to is called as it is, and 0 is left to be added.

    >>> conv = Conv2d(1, 2, 1)
    >>> x = torch.randn(1, 1, 3, 3)
    >>> y, bias = without_bias(conv, x)
    >>> torch.allclose(y + bias[:, None, None], conv(x))
    True
    """
    if conv.bias is None or not is_plain(conv):
        y: Tensor = conv(x)
        return y, y.new_zeros(())
    return conv._conv_forward(x, conv.weight, None), conv.bias


def pointwise(conv: nn.Module, x: Tensor, extra: Tensor) -> Tensor:
    """A 1×1 convolution with a further bias; where channels lie side by side, one product of matrices.

    >>> conv, x, extra = Conv2d(3, 2, 1), torch.randn(1, 3, 4, 4), torch.tensor([1.0, 2.0])
    >>> torch.allclose(pointwise(conv, x, extra), conv(x) + extra[:, None, None], atol=1e-6)
    True
    """
    if type(conv) is not Conv2d or conv.bias is None or not is_plain(conv):
        y: Tensor = conv(x) + extra.reshape(-1, 1, 1)
        return y
    bias = conv.bias + extra
    if not x.is_contiguous(memory_format=torch.channels_last):
        mapped: Tensor = conv._conv_forward(x, conv.weight, bias)
        return mapped
    return F.linear(x.permute(0, 2, 3, 1), conv.weight.flatten(1), bias).permute(0, 3, 1, 2)


Convolution = Conv1d | Conv2d


def _as_matrix(layer: Convolution, *size: int) -> Tensor:
    """Column by column: what comes out where one input is 1 and all others are 0."""
    inputs = layer.in_channels * prod(size)
    basis = torch.eye(inputs, dtype=layer.weight.dtype, device=layer.weight.device)
    basis = basis.reshape(inputs, layer.in_channels, *size)
    _must_fit(layer, basis)
    columns: Tensor = layer._conv_forward(basis, layer.weight, None).flatten(1)
    return columns.T


def _check_groups(layer: str, in_channels: int, out_channels: int, groups: int) -> None:
    if in_channels % groups or out_channels % groups:
        channels = f"in_channels={in_channels}, out_channels={out_channels}"
        raise GradlabError(f"{layer}: both numbers of channels must be multiples of groups={groups}, got {channels}.")


def _must_fit(layer: Convolution, x: Tensor) -> None:
    settings = zip(layer.kernel_size, layer.stride, layer.padding, layer.dilation, strict=True)
    for n, setting in zip(x.shape[2:], settings, strict=True):
        output_size(n, *setting)
        if layer.padding_mode == "circular" and setting[2] > n:
            raise ShapeError(f"Circular padding of {setting[2]} is more than once around {n} entries.")
