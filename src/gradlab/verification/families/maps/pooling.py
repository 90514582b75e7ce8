"""What is known of pooling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.scratch import convolution as twins
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.maps.convolution import for_each
from gradlab.verification.subject import Incomparable

MAX, AVERAGE = ("pool.max1d", "pool.max2d"), ("pool.average1d", "pool.average2d")
AXES = {name: ("length",) if name.endswith("1d") else ("height", "width") for name in (*MAX, *AVERAGE)}


@dataclass(frozen=True)
class Pooling:
    """A pooling that was drawn, its settings as one number for each axis."""

    block: Any
    axes: tuple[str, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __call__(self, x: Tensor) -> Any:
        return self.block(x)

    def without_frame(self) -> "Pooling":
        """Some laws are about windows that lie inside, and a user's layer may have others."""
        if any(self.padding):
            raise Incomparable("this is about a pooling without padding")
        return self

    def input(self, case: Case, sizes: Sequence[int] = ()) -> Tensor:
        """A batch of sequences or pictures without ties, in which there is room for more than one window."""
        sizes = sizes or [case.integer(axis, k + 1, k + 4) for axis, k in zip(self.axes, self.kernel, strict=True)]
        return case.distinct("x", case.integer("batch", 1, 2), case.integer("channels", 1, 2), *sizes)


def draw(case: Case, *vary: str) -> Pooling:
    """A pooling of which the window varies, and so do these settings."""
    axes = AXES[case.subject.name]
    size = case.choice("kernel_size", [2, 3, 1, *[(2, 3), (3, 1)] * (len(axes) == 2)])
    stride = case.choice("stride", [None, 1, 2, 3] if "stride" in vary else [None])
    kernel = for_each(size, axes)
    half = tuple(k // 2 for k in kernel)
    padding = case.choice("padding", [0, half if len(half) == 2 else half[0]] if "padding" in vary else [0])
    block = case.build(kernel_size=size, stride=stride, padding=padding)
    return Pooling(block, axes, kernel, for_each(size if stride is None else stride, axes), for_each(padding, axes))


def _call(case: Case) -> Call:
    pool = draw(case, "stride", "padding")
    numbers = {"size": pool.kernel, "stride": pool.stride, "padding": pool.padding}
    options = {name: value if len(pool.axes) == 2 else value[0] for name, value in numbers.items()}
    settings = {"kernel_size": pool.kernel, "stride": pool.stride, "padding": pool.padding}
    return Call(pool.block, (pool.input(case),), options=options, settings=settings)


def _pooled(kind: str, x: Tensor, pool: Any, **options: Any) -> Any:
    function: Callable[..., Any] = getattr(F, f"{kind}_pool{pool.axes}d")
    return function(x, pool.kernel_size, pool.stride, **({"padding": pool.padding} | options))


def _first_of_each_window(self: Any, x: Tensor) -> Tensor:
    places = self.right(x).shape[2:]
    steps: Any = (..., *(slice(None, None, s) for s in self.stride))
    there: Any = (..., *(slice(n) for n in places))
    return x[steps][there]


common = [Fault(forward=lambda self, x: _pooled("max", x - x.mean(), self)), Fault(forward=_first_of_each_window)]
conform("pool.max1d", _call, twin=twins.max_pool1d, peer=nn.MaxPool1d, fault=common)
conform("pool.max2d", _call, twin=twins.max_pool2d, peer=nn.MaxPool2d, fault=common)
conform("pool.average1d", _call, twin=twins.average_pool1d, peer=nn.AvgPool1d, fault=common)
conform("pool.average2d", _call, twin=twins.average_pool2d, peer=nn.AvgPool2d, fault=common)
SIZES = {"n": 2, "c": 3, "m": 4, "k": 2}
example(MAX[0], AVERAGE[0], call=lambda n, c, m, k: ({"kernel_size": k}, (torch.randn(n, c, m * k),)), **SIZES)
example(MAX[1], AVERAGE[1], call=lambda n, c, m, k: ({"kernel_size": k}, (torch.randn(n, c, m * k, m * k),)), **SIZES)

# Laws


@law(*MAX, fault=Fault(forward=lambda self, x: _pooled("avg", x, self)))
def the_gradient_goes_to_the_largest_entry(case: Case) -> float:
    """∂f/∂x is 1 at the largest entry of a window, else 0"""
    pool = draw(case).without_frame()
    x = case.distinct("x", 1, 1, *pool.kernel)
    return difference(torch.autograd.grad(pool(x).sum(), x), [(x == x.max()).to(x)])


def _framed_by_zeros(self: Any, x: Tensor) -> Any:
    return _pooled("max", F.pad(x, [p for p in reversed(self.padding) for _ in range(2)]), self, padding=0)


@law(*MAX, fault=Fault(forward=_framed_by_zeros))
def the_frame_is_never_the_largest(case: Case) -> float:
    """f(x) ≤ max x, even if x < 0 and whatever the padding"""
    pool = draw(case, "stride", "padding")
    x = pool.input(case)
    return excess(pool(x - x.max() - 1), -1.0)


@law(
    *AVERAGE,
    fault=[
        Fault(forward=lambda self, x: _pooled("avg", x, self, count_include_pad=False)),
        Fault(forward=lambda self, x: _pooled("max", x, self)),
    ],
)
def it_is_a_convolution_with_a_constant_kernel(case: Case) -> float:
    """f(x) = corr(x, 1/k), in which the frame counts as zeros; gradients included"""
    pool = draw(case, "stride", "padding")
    x = pool.input(case)
    channels = x.shape[1]
    kernel = torch.full((channels, 1, *pool.kernel), 1 / prod(pool.kernel), dtype=x.dtype)
    conv: Any = F.conv1d if len(pool.axes) == 1 else F.conv2d
    return difference(pool(x), conv(x, kernel, stride=pool.stride, padding=pool.padding, groups=channels), [x])
