"""What is known of pooling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.blocks import find_block
from gradlab.scratch import convolution as twins
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess, gradients, same
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
        """A batch of sequences or pictures without ties."""
        sizes = sizes or [case.integer(axis, k, k + 4) for axis, k in zip(self.axes, self.kernel, strict=True)]
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


# Twins, peers and examples

JUDGES: dict[str, tuple[Callable[..., Any], Any]] = {
    # block: its twin, its peer in torch.nn
    "pool.max1d": (twins.max_pool1d, nn.MaxPool1d),
    "pool.max2d": (twins.max_pool2d, nn.MaxPool2d),
    "pool.average1d": (twins.average_pool1d, nn.AvgPool1d),
    "pool.average2d": (twins.average_pool2d, nn.AvgPool2d),
}


def _judged(name: str) -> None:
    function, torchs = JUDGES[name]
    axes = len(AXES[name])

    @twin(name, function)
    def twin_check(case: Case) -> float:
        pool = draw(case, "stride", "padding")
        x = pool.input(case)
        size, stride, padding = (n if axes == 2 else n[0] for n in (pool.kernel, pool.stride, pool.padding))
        return agreement(pool(x), lambda x: function(x, size, stride=stride, padding=padding), x)

    @peer(name, f"torch.nn.{torchs.__name__}")
    def peer_check(case: Case) -> float:
        pool = draw(case, "stride", "padding")
        x = pool.input(case)
        return same(pool(x), torchs(pool.kernel, pool.stride, pool.padding)(x), [x])

    @example(name, n=2, c=3, m=4, k=2)
    def usual(n: int, c: int, m: int, k: int) -> Any:
        return {"kernel_size": k}, (torch.randn(n, c, *[m * k] * axes),)


for _name in JUDGES:
    _judged(_name)


# Laws. Each comes with a version of the block that breaks it.


def wrong(forward: Callable[[Any, Tensor], Tensor]) -> dict[str, type]:
    """All kinds of pooling, with another forward pass."""
    kinds: dict[str, Any] = {name: find_block(name) for name in JUDGES}
    return {name: type("Wrong", (kind,), {"forward": forward}) for name, kind in kinds.items()}


def _first_of_each_window(self: Any, x: Tensor) -> Tensor:
    steps: Any = (..., *(slice(None, None, s) for s in self.stride))
    return x[steps]


def _max(self: Any, x: Tensor) -> Tensor:
    return (F.max_pool1d if self.axes == 1 else F.max_pool2d)(x, self.kernel_size, self.stride, self.padding)


def _average(self: Any, x: Tensor) -> Tensor:
    return (F.avg_pool1d if self.axes == 1 else F.avg_pool2d)(x, self.kernel_size, self.stride, self.padding)


def _average_of_what_is_inside(self: Any, x: Tensor) -> Tensor:
    pool = F.avg_pool1d if self.axes == 1 else F.avg_pool2d
    return pool(x, self.kernel_size, self.stride, self.padding, count_include_pad=False)


def _framed_by_zeros(self: Any, x: Tensor) -> Tensor:
    framed = F.pad(x, [p for p in reversed(self.padding) for _ in range(2)])
    return (F.max_pool1d if self.axes == 1 else F.max_pool2d)(framed, self.kernel_size, self.stride)


@law(*MAX, *AVERAGE, wrong=wrong(_first_of_each_window))
def where_in_a_window_an_entry_lies_does_not_matter(case: Case) -> float:
    """f(x[π]) = f(x) for the entries of one window in another order"""
    pool = draw(case).without_frame()
    x = pool.input(case, pool.kernel)
    order = case.permutation("order", prod(pool.kernel))
    return difference(pool(x.flatten(2)[..., order].reshape(x.shape)), pool(x))


@law(*MAX, *AVERAGE, wrong=wrong(lambda self, x: _max(self, x - x.mean())))
def moving_the_input_by_a_stride_moves_the_output_by_one(case: Case) -> float:
    """f(x[s:]) = f(x)[1:]"""
    pool = draw(case, "stride").without_frame()
    x = pool.input(
        case, [case.integer(a, k + s, k + s + 3) for a, k, s in zip(pool.axes, pool.kernel, pool.stride, strict=True)]
    )
    later: Any = (..., *(slice(s, None) for s in pool.stride))
    after: Any = (..., *(slice(1, None) for _ in pool.axes))
    return difference(pool(x[later]), pool(x)[after])


@law(*MAX, wrong=wrong(_average))
def an_increasing_map_may_come_before_or_after(case: Case) -> float:
    """f(g(x)) = g(f(x)) if g is increasing"""
    pool = draw(case, "stride", "padding")
    x = pool.input(case)
    return difference(pool(x.exp()), pool(x).exp())


@law(*MAX, wrong=wrong(_average))
def the_gradient_goes_to_the_largest_entry(case: Case) -> float:
    """∂f/∂x is 1 at the largest entry of a window, else 0"""
    pool = draw(case).without_frame()
    x = case.distinct("x", 1, 1, *pool.kernel)
    return difference(gradients(pool(x), [x]), [(x == x.max()).to(x)])


@law(*MAX, wrong=wrong(_framed_by_zeros))
def the_frame_is_never_the_largest(case: Case) -> float:
    """f(x) ≤ max x, even if x < 0 and whatever the padding"""
    pool = draw(case, "stride", "padding")
    x = pool.input(case)
    return excess(pool(x - x.max() - 1), -1.0)


@law(*AVERAGE, wrong=wrong(_average_of_what_is_inside))
def it_is_a_convolution_with_a_constant_kernel(case: Case) -> float:
    """f(x) = corr(x, 1/k), in which the frame counts as zeros; gradients included"""
    pool = draw(case, "stride", "padding")
    x = pool.input(case)
    channels = x.shape[1]
    kernel = torch.full((channels, 1, *pool.kernel), 1 / prod(pool.kernel), dtype=x.dtype)
    conv: Any = F.conv1d if len(pool.axes) == 1 else F.conv2d
    return same(pool(x), conv(x, kernel, stride=pool.stride, padding=pool.padding, groups=channels), [x])


@law(*AVERAGE, wrong=wrong(_max))
def windows_side_by_side_keep_the_mean(case: Case) -> float:
    """mean f(x) = mean x if the windows cover x and do not overlap"""
    pool = draw(case).without_frame()
    if pool.stride != pool.kernel:
        raise Incomparable("this is about windows that do not overlap")
    sizes = [k * case.integer(f"windows along {axis}", 1, 3) for axis, k in zip(pool.axes, pool.kernel, strict=True)]
    x = pool.input(case, sizes)
    return difference(pool(x).mean(), x.mean())
