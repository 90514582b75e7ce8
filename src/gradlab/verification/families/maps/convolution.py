"""What is known of convolutions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import gcd, prod
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn.blocks import find_block
from gradlab.nn.sizes import output_size
from gradlab.scratch import convolution as twins
from gradlab.scratch.functions import pad
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.maps.dense import has_bias
from gradlab.verification.subject import Incomparable

AXES = {"conv.conv1d": ("length",), "conv.conv2d": ("height", "width")}
VARIED = {"stride": (1, 2, 3), "padding": (0, 1, 2), "dilation": (1, 2), "groups": (1, 2, 3)}


@dataclass(frozen=True)
class Layer:
    """A convolution that was drawn."""

    block: Any
    settings: dict[str, Any]
    axes: tuple[str, ...]
    parameters: list[nn.Parameter]
    """The weight, and the bias where there is one."""

    def __call__(self, x: Tensor) -> Any:
        return self.block(x)

    def __getitem__(self, setting: str) -> tuple[int, ...]:
        """A setting as one number for each axis."""
        return for_each(self.settings[setting], self.axes)

    @property
    def weight(self) -> nn.Parameter:
        return self.parameters[0]

    @property
    def circular(self) -> bool:
        return bool(self.settings["padding_mode"] == "circular")

    def only(self, **wanted: Any) -> "Layer":
        """Some laws are about some settings alone, and a user's layer may have others."""
        for name, value in wanted.items():
            if self[name] != for_each(value, self.axes):
                raise Incomparable(f"this is about a layer with {name}={value}, not {self.settings[name]}")
        return self

    def sizes(self, case: Case, inside: bool = False) -> list[int]:
        """Sizes of a sequence or a picture that the kernel fits into; `inside`, also without the frame."""
        drawn = []
        settings = zip(self.axes, self["kernel_size"], self["padding"], self["dilation"], strict=True)
        for axis, kernel, padding, dilation in settings:
            reach = dilation * (kernel - 1) + 1
            least = reach if inside else max(1, reach - 2 * padding)
            least = max(least, padding) if self.circular else least
            drawn.append(case.integer(axis, least, least + 3))
        return drawn

    def input(self, case: Case, inside: bool = False) -> Tensor:
        """A batch of sequences or pictures."""
        return case.tensor("x", case.integer("batch", 1, 2), self.settings["in_channels"], *self.sizes(case, inside))


def draw(case: Case, *vary: str, bias: bool = True, channels: int = 4, same_size: bool = False) -> Layer:
    """A layer in which these settings vary. The others have their defaults, or the values that the user has fixed.

    Without `bias` it has none, or one of zeros. With `same_size` the padding is circular, and such that the output of a
    stride of 1 is as long as the input.
    """
    axes, fixed = AXES[case.subject.name], case.subject.fixed

    def among(name: str, options: Sequence[Any]) -> Any:
        return case.choice(name, options) if len(options) > 1 or name in fixed else options[0]

    def number(name: str, options: Sequence[int]) -> Any:
        """One number for all axes; or, of a picture, a pair of them."""
        low, *_, high = options
        return among(name, [*options, (low, high), (high, low)] if len(axes) == 2 else options)

    settings: dict[str, Any] = {
        name: number(name, options) if name in vary else among(name, options[:1])
        for name, options in VARIED.items()
        if name != "groups"
    }
    settings["kernel_size"] = number("kernel_size", (1, 3, 5) if same_size else (1, 2, 3))
    settings["padding_mode"] = among("padding_mode", ("zeros", "circular") if "padding" in vary else ("zeros",))
    if same_size:
        dilations, kernels = (for_each(settings[name], axes) for name in ("dilation", "kernel_size"))
        half = tuple(d * (k - 1) // 2 for d, k in zip(dilations, kernels, strict=True))
        settings["padding"] = among("padding", [half if len(half) == 2 else half[0]])
        settings["padding_mode"] = among("padding_mode", ["circular"])
    common = gcd(fixed.get("in_channels", 0), fixed.get("out_channels", 0))  # 0, a multiple of all, where both are free
    groups = among("groups", [g for g in VARIED["groups"] if common % g == 0] if "groups" in vary else [1])
    for name in ("in_channels", "out_channels"):
        settings[name] = among(name, range(groups, max(groups, channels) + 1, groups))
    if isinstance(settings["padding"], str):
        raise Incomparable(f"its padding is {settings['padding']!r}, and not a number")
    settings |= {"groups": groups, "bias": (bias or "bias" in fixed) and has_bias(case)}
    block = case.build(**settings)
    parameters = case.weights(block, "weight", *["bias"] * settings["bias"])
    if settings["bias"] and not bias:
        case.set(block, bias=0.0)
    return Layer(block, settings, axes, [*parameters.values()])


def for_each(value: Any, axes: Sequence[str]) -> tuple[Any, ...]:
    """One number for each axis, however it is written."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(axes)


# Twins, peers and examples


def _call(case: Case) -> Call:
    layer = draw(case, *VARIED)
    turned = {name: layer[name] if len(layer.axes) == 2 else layer[name][0] for name in ("stride", "dilation")}
    options: dict[str, Any] = turned | {"groups": layer.settings["groups"], "layer": layer}
    weights = dict(zip(("weight", "bias"), layer.parameters, strict=False))
    return Call(layer, (layer.input(case),), weights, options, layer.settings)


def _framed(function: Callable[..., scratch.Tensor]) -> Callable[..., scratch.Tensor]:
    """The twin, after the frame has been put around its input."""

    def call(x: scratch.Tensor, *parameters: scratch.Tensor, layer: Layer, **options: Any) -> scratch.Tensor:
        *_, down, across = 0, *layer["padding"]
        picture = x.reshape(*x.shape[:2], -1, x.shape[-1])
        frame = [(0, 0), (0, 0), (down, down), (across, across)]
        framed = twins.continued(picture, (down, across), "wrap") if layer.circular else pad(picture, frame)
        return function(framed if len(layer.axes) == 2 else framed.reshape(*x.shape[:2], -1), *parameters, **options)

    return call


def _plain(case: Case) -> Call:
    layer = draw(case, "stride", "padding", bias=False).only(dilation=1, groups=1)
    return Call(layer, (layer.input(case),), options={"layer": layer})


def _by_scipy(call: Call) -> Tensor:
    from scipy.signal import correlate  # type: ignore[import-untyped]

    x, layer = call.inputs[0].detach().numpy(), call.options["layer"]
    frame = [(0, 0), (0, 0), *((p, p) for p in layer["padding"])]
    framed, weight = np.pad(x, frame, mode="wrap" if layer.circular else "constant"), layer.weight.detach().numpy()
    # The channels are an axis like the others, which the kernel fills.
    wanted = np.array([[correlate(picture, kernel, mode="valid")[0] for kernel in weight] for picture in framed])
    every: Any = (..., *(slice(None, None, s) for s in layer["stride"]))
    return torch.from_numpy(wanted[every])


conform("conv.conv1d", _call, twin=twins.conv1d, twin_call=_framed(twins.conv1d), peer=nn.Conv1d)
conform("conv.conv2d", _call, twin=twins.conv2d, twin_call=_framed(twins.conv2d), peer=nn.Conv2d)
conform("conv.conv2d", _call, twin=twins.conv2d_by_loops, twin_call=_framed(twins.conv2d_by_loops))


def _example(n: int, c: int, h: int, g: int, k: int, m: int, axes: int) -> Any:
    settings = {"in_channels": c, "out_channels": h, "kernel_size": k, "groups": g}
    return settings, (torch.randn(n, c, *[m + k - 1] * axes),)


for _name, _axes in AXES.items():
    conform(_name, _plain, peer={"scipy.signal.correlate": _by_scipy})
    example(_name, call=partial(_example, axes=len(_axes)), n=2, c=4, h=6, g=2, k=3, m=5)

# Laws

BOTH = tuple(AXES)


def wrong_matrix(change: Callable[[Tensor], Tensor]) -> Fault:
    return Fault(as_matrix=lambda self, *size: change(super(type(self), self).as_matrix(*size)))


def wrong_setting(**settings: Any) -> dict[str, Callable[..., Any]]:
    """Both kinds of layer, with this setting in place of the one they are built with."""
    kinds = {name: find_block(name) for name in BOTH}
    return {name: lambda kind=kind, **own: kind(**own | settings) for name, kind in kinds.items()}


def corr(x: Tensor, weight: Tensor, padding: Sequence[int] = (0, 0)) -> Tensor:
    """Cross-correlation of one or two axes, with nothing else to it."""
    return F.conv1d(x, weight, padding=padding[-1]) if x.ndim == 3 else F.conv2d(x, weight, padding=tuple(padding))


def flipped(kernel: Tensor) -> Tensor:
    return kernel.flip(*range(2, kernel.ndim))


def convolved(x: Tensor, kernel: Tensor) -> Tensor:
    """x ∗ w of one channel, by Fourier transforms, where both overlap entirely."""
    w, axes = kernel[0, 0], tuple(range(2 - x.ndim, 0))
    around = torch.fft.ifftn(torch.fft.fftn(x, dim=axes) * torch.fft.fftn(w, s=x.shape[2:], dim=axes), dim=axes).real
    inside: Any = (..., *(slice(k - 1, None) for k in w.shape))  # before it, the kernel reaches round the end
    convolution: Tensor = around[inside]
    return convolution


mirrored = Fault(forward=lambda self, x: self._conv_forward(x, flipped(self.weight), self.bias))


def _matrix(layer: Layer, x: Tensor) -> Tensor:
    if not hasattr(layer.block, "as_matrix"):
        raise Incomparable("it has no as_matrix")
    matrix: Tensor = layer.block.as_matrix(*x.shape[2:])
    return matrix


@law(
    *BOTH,
    id="conv-as-sparse-matmul",
    fault=[wrong_matrix(lambda matrix: matrix.flip(0, 1)), wrong_matrix(lambda matrix: matrix + 0.01)],
)
def it_is_a_product_with_its_matrix(case: Case) -> float:
    """conv(x) = A x + b with a sparse A, in whose rows at most c k / g entries are not 0; gradients included"""
    layer = draw(case, *VARIED)
    x = layer.input(case)
    matrix = _matrix(layer, x)
    by_matrix = x.flatten(1) @ matrix.T
    if layer.settings["bias"]:
        bias = layer.parameters[1]
        by_matrix = by_matrix + bias.repeat_interleave(by_matrix.shape[1] // len(bias))
    dense = excess((matrix != 0).sum(1).double(), layer.weight[0].numel())
    return max(dense, difference(layer(x).flatten(1), by_matrix, [x, *layer.parameters]))


@law("conv.conv1d", id="conv1d-toeplitz", fault=[wrong_matrix(lambda matrix: matrix.flip(0, 1)), mirrored])
def with_one_channel_the_matrix_is_a_toeplitz_band(case: Case) -> float:
    """relu(conv(x)) = relu(A x + b) with A[i, i + u] = w[u], and 0 outside of the band: d - k + 1 rows, d columns"""
    layer = draw(case, channels=1).only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)
    x = layer.input(case)
    weight, *bias = (parameter.detach().flatten() for parameter in layer.parameters)
    band = x.new_zeros(x.shape[-1] - len(weight) + 1, x.shape[-1])
    for u, w in enumerate(weight.tolist()):
        band.diagonal(u).fill_(w)
    dense = F.linear(x, band, bias[0].expand(len(band)) if bias else None)
    return difference((_matrix(layer, x), layer(x).relu()), (band, dense.relu()))


@law(*BOTH, fault=mirrored)
def a_kernel_as_large_as_the_input_is_a_dense_layer(case: Case) -> float:
    """conv(x) = W x + b if x has the size of the kernel"""
    layer = draw(case).only(padding=0, dilation=1, groups=1)
    x = case.tensor("x", case.integer("batch", 1, 3), layer.settings["in_channels"], *layer["kernel_size"])
    weight, *bias = layer.parameters
    return difference(layer(x).flatten(1), F.linear(x.flatten(1), weight.flatten(1), *bias))


@law(*BOTH, id="conv-param-count", fault=wrong_setting(groups=1))
def each_output_has_a_kernel_and_a_bias(case: Case) -> float:
    """h (c k / g + 1) parameters, however large the input is: h (D K² + 1) for h kernels of K × K and D channels"""
    layer = draw(case, "groups")
    layer(layer.input(case))  # a layer that grew with its input would have grown
    inputs, outputs, groups = (layer.settings[name] for name in ("in_channels", "out_channels", "groups"))
    number = sum(parameter.numel() for parameter in layer.block.parameters())
    return float(abs(number - outputs * (inputs // groups * prod(layer["kernel_size"]) + layer.settings["bias"])))


# Places


@law(*BOTH, id="translation-equivariance", fault=wrong_setting(padding_mode="zeros"))
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


@law(*BOTH, id="conv-output-size", fault=Fault(forward=_framed_at_one_side))
def the_sizes_give_the_number_of_places(case: Case) -> float:
    """⌊(n + 2p - d(k - 1) - 1) / s⌋ + 1 places along an axis, p at either side; ⌊(n - k + 2p + s) / s⌋ if d = 1"""
    layer = draw(case, "stride", "padding", "dilation", channels=1)
    x = layer.input(case, inside=True)
    settings = [layer[name] for name in ("kernel_size", "stride", "padding", "dilation")]
    wanted = [output_size(*numbers) for numbers in zip(x.shape[2:], *settings, strict=True)]
    return float(max(abs(a - b) for a, b in zip(layer(x).shape[2:], wanted, strict=True)))


# Channels


def _interleaved(self: Any, x: Tensor) -> Any:
    """Deals the channels out to the groups one by one, as cards are."""
    dealt = torch.cat([x[:, group :: self.groups] for group in range(self.groups)], 1)
    return self._conv_forward(dealt, self.weight, self.bias)


@law(*BOTH, fault=Fault(forward=_interleaved))
def each_group_sees_its_own_channels(case: Case) -> float:
    """conv(x) = (conv₁(x₁), …, conv_g(x_g)), where x₁ are the first c / g channels"""
    layer = draw(case, "groups", bias=False, channels=6).only(stride=1, padding=0, dilation=1)
    x, groups = layer.input(case), layer.settings["groups"]
    parts = zip(x.chunk(groups, 1), layer.weight.chunk(groups), strict=True)
    return difference(layer(x), torch.cat([corr(channels, kernels) for channels, kernels in parts], 1))


@law(*BOTH, fault=Fault(forward=lambda self, x: self._conv_forward(x, self.weight / self.in_channels, self.bias)))
def one_kernel_for_all_channels_sees_their_sum(case: Case) -> float:
    """conv(x) = corr(Σ_c x_c, w) if W_{o,c} = w for all c, and b = 0"""
    layer = draw(case, bias=False, channels=3).only(stride=1, padding=0, dilation=1, groups=1)
    x, kernel = layer.input(case), layer.weight.detach()[:, :1].clone()
    case.set(layer.block, weight=kernel.expand_as(layer.weight))
    return difference(layer(x), corr(x.sum(1, keepdim=True), kernel))


# The convolution of mathematics, of which this one is the mirror image


@law(*BOTH, id="cross-correlation", fault=mirrored)
def the_kernel_slides_over_the_input_as_it_is(case: Case) -> float:
    """corr(x, w)[i] = Σ_u w[u] x[i + u] at n - k + 1 places; conv(x, flip w) is the same"""
    layer = draw(case, bias=False, channels=1).only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)
    x, w = layer.input(case), layer.weight[0, 0]
    places = [n - k + 1 for n, k in zip(x.shape[2:], w.shape, strict=True)]
    shifts = list(product(*map(range, w.shape)))
    windows: list[Any] = [(..., *(slice(u, u + n) for u, n in zip(at, places, strict=True))) for at in shifts]
    slid = torch.stack([w[at] * x[window] for at, window in zip(shifts, windows, strict=True)]).sum(0)
    return difference((layer(x), layer(x)), (slid, convolved(x, flipped(layer.weight))), [x, layer.weight])


@law(*BOTH, id=("convolution-math", "cross-correlation"), fault=mirrored)
def with_the_kernel_flipped_it_is_convolution(case: Case) -> float:
    """corr(x, flip w) = x ∗ w = F⁻¹(F x · F w), where both overlap entirely"""
    layer = draw(case, bias=False, channels=1).only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)
    x, w = layer.input(case).detach(), layer.weight.detach().clone()
    case.set(layer.block, weight=flipped(w))
    return difference(layer(x), convolved(x, w))


@law(*BOTH, id="convolution-math", fault=Fault(forward=lambda self, x: self.right(x).relu()))
def the_order_of_two_convolutions_does_not_matter(case: Case) -> float:
    """f ∗ (g ∗ x) = (f ∗ g) ∗ x = g ∗ (f ∗ x): associative and commutative"""
    f = draw(case, bias=False, channels=1).only(in_channels=1, out_channels=1, stride=1, padding=0, dilation=1)
    other, frame = case.tensor("g", *f.weight.shape), [k - 1 for k in f["kernel_size"]]
    x = case.tensor("x", 1, 1, *(size + k for size, k in zip(f.sizes(case), frame, strict=True)))
    wider = corr(other, flipped(f.weight), frame)
    return difference((f(corr(x, other)),) * 2, (corr(f(x), other), corr(x, wider)))
