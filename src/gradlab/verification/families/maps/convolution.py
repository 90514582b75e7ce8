"""Convolutions as they are drawn for a check, with their twins and peers. Their laws are in `convolution_laws`."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.scratch import convolution as twins
from gradlab.scratch.functions import pad
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, difference, same
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

    def copy(self) -> "Layer":
        """A layer with parameters of its own."""
        block = deepcopy(self.block)
        own = dict(block.named_parameters())
        return replace(self, block=block, parameters=[own[name] for name in ("weight", "bias") if name in own])

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
    with torch.no_grad():
        for b in [] if bias else parameters[1:]:
            b.zero_()
    return Layer(block, settings, axes, parameters)


def for_each(value: Any, axes: Sequence[str]) -> tuple[Any, ...]:
    """One number for each axis, however it is written."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(axes)


# Twins


@twin("conv.conv1d", twins.conv1d)
def conv1d_twin(case: Case) -> float:
    return _twin(case, twins.conv1d)


@twin("conv.conv2d", twins.conv2d)
def conv2d_twin(case: Case) -> float:
    return _twin(case, twins.conv2d)


@twin("conv.conv2d", twins.conv2d_by_loops)
def conv2d_twin_by_loops(case: Case) -> float:
    return _twin(case, twins.conv2d_by_loops)


def _twin(case: Case, function: Callable[..., scratch.Tensor]) -> float:
    layer = draw(case, *VARIED)
    x = layer.input(case)
    settings = {name: layer[name] if len(layer.axes) == 2 else layer[name][0] for name in ("stride", "dilation")}
    settings["groups"] = layer.settings["groups"]

    def with_frame(x: scratch.Tensor, *parameters: scratch.Tensor) -> scratch.Tensor:
        *_, down, across = 0, *layer["padding"]
        picture = x.reshape(*x.shape[:2], -1, x.shape[-1])
        frame = [(0, 0), (0, 0), (down, down), (across, across)]
        framed = twins.continued(picture, (down, across), "wrap") if layer.circular else pad(picture, frame)
        return function(framed if len(layer.axes) == 2 else framed.reshape(*x.shape[:2], -1), *parameters, **settings)

    return agreement(layer(x), with_frame, x, *layer.parameters)


# Peers


@peer("conv.conv1d", "torch.nn.Conv1d")
def conv1d_peer(case: Case) -> float:
    return _peer(case, nn.Conv1d)


@peer("conv.conv2d", "torch.nn.Conv2d")
def conv2d_peer(case: Case) -> float:
    return _peer(case, nn.Conv2d)


def _peer(case: Case, kind: type[nn.Conv1d] | type[nn.Conv2d]) -> float:
    layer = draw(case, *VARIED)
    x, torchs = layer.input(case), kind(**layer.settings).double()
    torchs.load_state_dict(dict(zip(("weight", "bias"), layer.parameters, strict=False)))
    return same(layer(x), torchs(x), [x, *layer.parameters], [x, *torchs.parameters()])


@peer("conv.conv1d", "scipy.signal.correlate")
@peer("conv.conv2d", "scipy.signal.correlate")
def by_scipy(case: Case) -> float:
    from scipy.signal import correlate  # type: ignore[import-untyped]

    layer = draw(case, "stride", "padding", bias=False).only(dilation=1, groups=1)
    x, weight = layer.input(case), layer.weight.detach().numpy()
    frame = [(0, 0), (0, 0), *((p, p) for p in layer["padding"])]
    framed = np.pad(x.detach().numpy(), frame, mode="wrap" if layer.circular else "constant")
    # The channels are an axis like the others, which the kernel fills.
    wanted = np.array([[correlate(picture, kernel, mode="valid")[0] for kernel in weight] for picture in framed])
    every: Any = (..., *(slice(None, None, s) for s in layer["stride"]))
    return difference(layer(x), torch.from_numpy(wanted[every]))


@example("conv.conv1d", n=2, c=4, h=6, g=2, k=3, m=5)
def conv1d_example(n: int, c: int, h: int, g: int, k: int, m: int) -> Any:
    return {"in_channels": c, "out_channels": h, "kernel_size": k, "groups": g}, (torch.randn(n, c, m + k - 1),)


@example("conv.conv2d", n=2, c=4, h=6, g=2, k=3, m=5)
def conv2d_example(n: int, c: int, h: int, g: int, k: int, m: int) -> Any:
    pictures = torch.randn(n, c, m + k - 1, m + k - 1)
    return {"in_channels": c, "out_channels": h, "kernel_size": k, "groups": g}, (pictures,)
