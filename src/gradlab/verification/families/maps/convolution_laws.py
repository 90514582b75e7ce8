"""What is known of convolutions. Each law comes with a version of the layer that breaks it."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn.blocks import find_block
from gradlab.nn.sizes import output_size
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, same
from gradlab.verification.families.maps.convolution import AXES, VARIED, Layer, draw
from gradlab.verification.subject import Incomparable

KINDS: dict[str, Any] = {name: find_block(name) for name in AXES}
BOTH = tuple(KINDS)


def wrong(forward: Callable[[Any, Tensor], Tensor]) -> dict[str, type]:
    """Both kinds of layer, with another forward pass."""
    return {name: type("Wrong", (block,), {"forward": forward}) for name, block in KINDS.items()}


def wrong_matrix(change: Callable[[Tensor], Tensor]) -> dict[str, type]:
    """Both kinds of layer, with another matrix."""

    def changed(block: Any) -> type:
        return type("Wrong", (block,), {"as_matrix": lambda self, *size: change(block.as_matrix(self, *size))})

    return {name: changed(block) for name, block in KINDS.items()}


def wrong_setting(**settings: Any) -> dict[str, Callable[..., Any]]:
    """Both kinds of layer, with this setting whatever they are told."""

    def deaf(block: Any) -> Callable[..., Any]:
        return lambda **given: block(**{**given, **settings})

    return {name: deaf(block) for name, block in KINDS.items()}


def corr(x: Tensor, weight: Tensor, padding: Sequence[int] = (0, 0)) -> Tensor:
    """Cross-correlation of one or two axes, with nothing else to it."""
    return F.conv1d(x, weight, padding=padding[-1]) if x.ndim == 3 else F.conv2d(x, weight, padding=tuple(padding))


def flipped(kernel: Tensor) -> Tensor:
    return kernel.flip(*range(2, kernel.ndim))


def _matrix(layer: Layer, x: Tensor) -> Tensor:
    if not hasattr(layer.block, "as_matrix"):
        raise Incomparable("it has no as_matrix")
    matrix: Tensor = layer.block.as_matrix(*x.shape[2:])
    return matrix


# A convolution is a dense layer


@law(*BOTH, wrong=wrong_matrix(lambda matrix: matrix.flip(0, 1)))
def it_is_a_product_with_its_matrix(case: Case) -> float:
    """conv(x) = A x + b, gradients included"""
    layer = draw(case, *VARIED)
    x = layer.input(case)
    by_matrix = x.flatten(1) @ _matrix(layer, x).T
    if layer.settings["bias"]:
        bias = layer.parameters[1]
        by_matrix = by_matrix + bias.repeat_interleave(by_matrix.shape[1] // len(bias))
    return same(layer(x).flatten(1), by_matrix, [x, *layer.parameters])


@law("conv.conv1d", wrong=wrong_matrix(lambda matrix: matrix.flip(0, 1)))
def with_one_channel_the_matrix_is_a_toeplitz_band(case: Case) -> float:
    """A[i, i + u] = w[u], and 0 outside of the band"""
    layer = draw(case, channels=1).only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)
    found = _matrix(layer, layer.input(case))
    band = torch.zeros_like(found)
    for u, w in enumerate(layer.weight.flatten().tolist()):
        band.diagonal(u).fill_(w)
    return difference(found, band)


@law("conv.conv2d", wrong=wrong_matrix(lambda matrix: matrix.flip(0, 1)))
def the_kernel_is_the_same_at_every_place(case: Case) -> float:
    """A[(o, i, j), (c, i + u, j + v)] = W[o, c, u, v], and 0 elsewhere"""
    layer = draw(case).only(stride=1, padding=0, dilation=1, groups=1)
    x = layer.input(case)
    outputs, channels, height, width = layer.weight.shape
    rows, columns = x.shape[2] - height + 1, x.shape[3] - width + 1
    wanted = torch.zeros(outputs, rows, columns, channels, *x.shape[2:], dtype=torch.float64)
    for i in range(rows):
        for j in range(columns):
            wanted[:, i, j, :, i : i + height, j : j + width] = layer.weight.detach()
    return difference(_matrix(layer, x), wanted.reshape(outputs * rows * columns, -1))


@law(*BOTH, wrong=wrong_matrix(lambda matrix: matrix + 0.01))
def an_output_sees_no_more_inputs_than_its_kernel_has_entries(case: Case) -> float:
    """at most c k / g entries in a row of A are not 0"""
    layer = draw(case, *VARIED)
    seen = (_matrix(layer, layer.input(case)) != 0).sum(1)
    return float((seen - layer.weight[0].numel()).clamp(min=0).max())


@law(*BOTH, wrong=wrong_setting(groups=1))
def each_output_has_a_kernel_and_a_bias(case: Case) -> float:
    """h (c k / g + 1) parameters, however large the input is"""
    layer = draw(case, "groups")
    inputs, outputs, groups = (layer.settings[name] for name in ("in_channels", "out_channels", "groups"))
    found = sum(parameter.numel() for parameter in layer.block.parameters())
    return float(abs(found - outputs * (inputs // groups * prod(layer["kernel_size"]) + layer.settings["bias"])))


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, flipped(self.weight), self.bias)))
def a_kernel_as_large_as_the_input_is_a_dense_layer(case: Case) -> float:
    """conv(x) = W x + b if x has the size of the kernel"""
    layer = draw(case).only(padding=0, dilation=1, groups=1)
    x = case.tensor("x", case.integer("batch", 1, 3), layer.settings["in_channels"], *layer["kernel_size"])
    weight, *bias = layer.parameters
    return difference(layer(x).flatten(1), F.linear(x.flatten(1), weight.flatten(1), *bias))


# Places


@law(*BOTH, wrong=wrong_setting(padding_mode="zeros"))
def moving_the_input_moves_the_output(case: Case) -> float:
    """conv(shift x) = shift conv(x) if the padding is circular: equivariant, not invariant"""
    layer = draw(case, "stride", "dilation", channels=2, same_size=True).only(padding_mode="circular")
    reach = [d * (k - 1) for d, k in zip(layer["dilation"], layer["kernel_size"], strict=True)]
    if any(2 * p != r for p, r in zip(layer["padding"], reach, strict=True)):
        raise Incomparable("this is about a layer that is padded so that the length stays")
    sizes = [stride * size for stride, size in zip(layer["stride"], layer.sizes(case), strict=True)]
    x = case.tensor("x", case.integer("batch", 1, 2), layer.settings["in_channels"], *sizes)
    steps = [case.integer(f"steps along {axis}", 1, 3) for axis in layer.axes]
    strides = [stride * step for stride, step in zip(layer["stride"], steps, strict=True)]
    axes = list(range(2, x.ndim))
    return difference(layer(x.roll(strides, axes)), layer(x).roll(steps, axes))


def _framed_at_one_side(self: Any, x: Tensor) -> Tensor:
    """Adds `padding` entries in all, and not at either side."""
    frame = [width for p in reversed(self.padding) for width in (0, p)]
    function = F.conv1d if x.ndim == 3 else F.conv2d
    return function(F.pad(x, frame), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


@law(*BOTH, wrong=wrong(_framed_at_one_side))
def the_sizes_give_the_number_of_places(case: Case) -> float:
    """⌊(n + 2p - d(k - 1) - 1) / s⌋ + 1 places along an axis, with p entries added at either side"""
    layer = draw(case, "stride", "padding", "dilation", channels=1)
    x = layer.input(case, inside=True)
    settings = [layer[name] for name in ("kernel_size", "stride", "padding", "dilation")]
    wanted = [output_size(*numbers) for numbers in zip(x.shape[2:], *settings, strict=True)]
    return float(max(abs(a - b) for a, b in zip(layer(x).shape[2:], wanted, strict=True)))


# Channels


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, self.weight / self.in_channels, self.bias)))
def channels_are_convolved_alone_and_added(case: Case) -> float:
    """conv(x)_o = b_o + Σ_c corr(x_c, W_{o,c})"""
    layer = draw(case, channels=3).only(stride=1, padding=0, dilation=1, groups=1)
    x = layer.input(case)
    weight, *bias = layer.parameters
    wanted = sum(corr(x[:, [c]], weight[:, [c]]) for c in range(x.shape[1]))
    return difference(layer(x), wanted + sum(b.reshape(-1, *[1] * len(layer.axes)) for b in bias))


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, self.weight / self.in_channels, self.bias)))
def one_kernel_for_all_channels_sees_their_sum(case: Case) -> float:
    """conv(x) = corr(Σ_c x_c, w) if W_{o,c} = w for all c, and b = 0"""
    layer = draw(case, bias=False, channels=3).only(stride=1, padding=0, dilation=1, groups=1)
    x = layer.input(case)
    kernel = layer.weight.detach()[:, :1].clone()
    with torch.no_grad():
        layer.weight.copy_(kernel.expand_as(layer.weight))
    return difference(layer(x), corr(x.sum(1, keepdim=True), kernel))


def _interleaved(self: Any, x: Tensor) -> Tensor:
    """Deals the channels out to the groups one by one, as cards are."""
    dealt = torch.cat([x[:, group :: self.groups] for group in range(self.groups)], 1)
    y: Tensor = self._conv_forward(dealt, self.weight, self.bias)
    return y


@law(*BOTH, wrong=wrong(_interleaved))
def each_group_sees_its_own_channels(case: Case) -> float:
    """conv(x) = (conv₁(x₁), …, conv_g(x_g)), where x₁ are the first c / g channels"""
    layer = draw(case, "groups", bias=False, channels=6).only(stride=1, padding=0, dilation=1)
    x, groups = layer.input(case), layer.settings["groups"]
    parts = zip(x.chunk(groups, 1), layer.weight.chunk(groups), strict=True)
    return difference(layer(x), torch.cat([corr(channels, kernels) for channels, kernels in parts], 1))


# The convolution of mathematics, of which this one is the mirror image


def _alone(case: Case) -> Layer:
    """A layer that is a kernel, and nothing besides."""
    layer = draw(case, bias=False, channels=1)
    return layer.only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, flipped(self.weight), self.bias)))
def with_the_kernel_flipped_it_is_convolution(case: Case) -> float:
    """corr(x, flip w) = x ∗ w = F⁻¹(F x · F w), where both overlap entirely"""
    layer = _alone(case)
    x, w = layer.input(case).detach(), layer.weight.detach().clone()
    with torch.no_grad():
        layer.weight.copy_(flipped(w))
    sizes = x.shape[2:]
    axes = tuple(range(-len(sizes), 0))
    around = torch.fft.ifftn(torch.fft.fftn(x, dim=axes) * torch.fft.fftn(w[0, 0], s=sizes, dim=axes), dim=axes).real
    inside = tuple(slice(k - 1, None) for k in layer["kernel_size"])  # before it, the kernel reaches round the end
    return difference(layer(x), around[(..., *inside)])


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, self.weight, self.bias).relu()))
def the_order_of_two_convolutions_does_not_matter(case: Case) -> float:
    """f ∗ (g ∗ x) = g ∗ (f ∗ x): commutative"""
    f, g, x = _two(case)
    return difference(f(g(x)), g(f(x)))


@law(*BOTH, wrong=wrong(lambda self, x: self._conv_forward(x, flipped(self.weight), self.bias)))
def two_convolutions_are_one_with_a_wider_kernel(case: Case) -> float:
    """f ∗ (g ∗ x) = (f ∗ g) ∗ x: associative"""
    f, g, x = _two(case)
    frame = [k - 1 for k in f["kernel_size"]]
    return difference(f(g(x)), corr(x, corr(g.weight, flipped(f.weight), frame)))


def _two(case: Case) -> tuple[Layer, Layer, Tensor]:
    """Two kernels of one size, and an input that both fit into one after the other."""
    f = _alone(case)
    g = f.copy()
    with torch.no_grad():
        g.weight.copy_(case.tensor("g", *g.weight.shape))
    sizes = [case.integer(axis, 2 * k - 1, 2 * k + 2) for axis, k in zip(f.axes, f["kernel_size"], strict=True)]
    return f, g, case.tensor("x", case.integer("batch", 1, 2), 1, *sizes)
