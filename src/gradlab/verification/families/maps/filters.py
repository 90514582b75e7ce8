"""What is known of the filters of pictures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn import filters as ours
from gradlab.nn.blocks import find_block
from gradlab.scratch import convolution as twins
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess

BLURS = ("filter.mean_blur", "filter.gaussian_blur")
KEEP_CONSTANTS = (*BLURS, "filter.sharpen")
ALL = (*KEEP_CONSTANTS, "filter.sobel")


def _settings(case: Case) -> dict[str, str]:
    return {"direction": case.choice("direction", ("x", "y"))} if case.subject.name == "filter.sobel" else {}


def _pictures(case: Case) -> Tensor:
    batch, channels = case.integer("batch", 1, 2), case.integer("channels", 1, 3)
    return case.tensor("x", batch, channels, case.integer("height", 3, 6), case.integer("width", 3, 6))


# Twins, peers and examples


@twin("filter.mean_blur", twins.mean_blur)
def mean_blur_twin(case: Case) -> float:
    x = _pictures(case)
    return agreement(case.build()(x), twins.mean_blur, x)


@twin("filter.gaussian_blur", twins.gaussian_blur)
def gaussian_blur_twin(case: Case) -> float:
    x = _pictures(case)
    return agreement(case.build()(x), twins.gaussian_blur, x)


@twin("filter.sharpen", twins.sharpen)
def sharpen_twin(case: Case) -> float:
    x = _pictures(case)
    return agreement(case.build()(x), twins.sharpen, x)


@twin("filter.sobel", twins.sobel)
def sobel_twin(case: Case) -> float:
    x, direction = _pictures(case), case.choice("direction", ("x", "y"))
    return agreement(case.build(direction=direction)(x), lambda x: twins.sobel(x, direction), x)


def _by_scipy(case: Case, function: Callable[[Any], Any], **settings: str) -> float:
    x = _pictures(case).detach()
    wanted = [[function(channel) for channel in picture] for picture in x.numpy()]
    return difference(case.build(**settings)(x), torch.from_numpy(np.array(wanted)))


@peer("filter.mean_blur", "scipy.ndimage.uniform_filter")
def scipys_uniform_filter(case: Case) -> float:
    from scipy.ndimage import uniform_filter  # type: ignore[import-untyped]

    return _by_scipy(case, lambda picture: uniform_filter(picture, 5, mode="mirror"))


@peer("filter.gaussian_blur", "scipy.ndimage.correlate")
def scipys_correlate(case: Case) -> float:
    from scipy.ndimage import correlate

    half = [[1, 4, 7, 4, 1], [4, 16, 26, 16, 4]]
    kernel = np.array([*half, [7, 26, 41, 26, 7], *reversed(half)]) / 273
    return _by_scipy(case, lambda picture: correlate(picture, kernel, mode="mirror"))


@peer("filter.sharpen", "scipy.ndimage.laplace")
def scipys_laplace(case: Case) -> float:
    from scipy.ndimage import laplace

    return _by_scipy(case, lambda picture: picture - laplace(picture, mode="mirror"))


@peer("filter.sobel", "scipy.ndimage.sobel")
def scipys_sobel(case: Case) -> float:
    from scipy.ndimage import sobel

    direction = case.choice("direction", ("x", "y"))
    axis = {"x": 1, "y": 0}[direction]
    return _by_scipy(case, lambda picture: sobel(picture, axis=axis, mode="mirror"), direction=direction)


def _pictures_of(n: int, c: int, h: int, w: int) -> Tensor:
    return torch.randn(n, c, h, w)


for _name in KEEP_CONSTANTS:
    example(_name, n=2, c=3, h=6, w=7)(lambda **sizes: ({}, (_pictures_of(**sizes),)))
example("filter.sobel", n=2, c=3, h=6, w=7)(lambda **sizes: ({"direction": "x"}, (_pictures_of(**sizes),)))


# Laws. Each comes with a version of the block that breaks it.


def wrong(change: Callable[[Any, Tensor], Tensor]) -> dict[str, type]:
    """All filters, with another forward pass."""
    kinds: dict[str, Any] = {name: find_block(name) for name in ALL}
    return {name: type("Wrong", (kind,), {"forward": change}) for name, kind in kinds.items()}


def _black_border(self: Any, x: Tensor) -> Tensor:
    """Zeros around the picture."""
    kernel = (self.kernel.to(x.dtype) / self.divisor).expand(x.shape[1], 1, -1, -1)
    return F.conv2d(x, kernel, padding=len(self.kernel) // 2, groups=x.shape[1])


def _all_channels(self: Any, x: Tensor) -> Tensor:
    return ours.Filter.forward(self, x.mean(1, keepdim=True).expand_as(x))


def _to_one_side(self: Any, x: Tensor) -> Tensor:
    """Has its kernel beside the pixel and not around it."""
    return ours.Filter.forward(self, x.roll(1, -1))


@law(*KEEP_CONSTANTS, wrong=wrong(_black_border))
def a_constant_picture_stays_as_it_is(case: Case) -> float:
    """f(c) = c: the kernel sums to 1, and the border adds no black"""
    x = torch.full_like(_pictures(case), case.real("c", 0.1, 5))
    return difference(case.build()(x), x)


@law(*ALL, wrong=wrong(_all_channels))
def each_channel_is_filtered_alone(case: Case) -> float:
    """f(x)_c = f(x_c)"""
    x, f = _pictures(case), case.build(**_settings(case))
    return difference(f(x), torch.cat([f(x[:, [c]]) for c in range(x.shape[1])], 1))


@law(*KEEP_CONSTANTS, wrong=wrong(_to_one_side))
def a_mirrored_picture_gives_the_mirrored_result(case: Case) -> float:
    """f(flip x) = flip f(x), from left to right and from top to bottom"""
    x, f = _pictures(case), case.build()
    return max(difference(f(x.flip(axis)), f(x).flip(axis)) for axis in (-1, -2))


@law(*BLURS, wrong=wrong(lambda self, x: 2 * x - ours.Filter.forward(self, x)))
def values_stay_between_the_least_and_the_largest(case: Case) -> float:
    """min x ≤ f(x) ≤ max x"""
    x = _pictures(case)
    y = case.build()(x)
    return max(excess(y, x.max()), excess(x.min() - y, 0.0))


@law("filter.mean_blur", wrong=lambda **settings: ours.GaussianBlur())
def it_is_a_blur_of_rows_after_a_blur_of_columns(case: Case) -> float:
    """K = (1/5)(1 1 1 1 1)ᵀ · (1/5)(1 1 1 1 1)"""
    x = _pictures(case)
    framed = F.pad(x, (2,) * 4, mode="reflect")
    return difference(case.build()(x), framed.unfold(2, 5, 1).mean(-1).unfold(3, 5, 1).mean(-1))


@law("filter.sharpen", wrong=wrong(lambda self, x: 2 * x - ours.Filter.forward(self, x)))
def it_adds_what_blurring_by_the_neighbours_takes_away(case: Case) -> float:
    """f(x) = x + 4 (x - mean of the four neighbours)"""
    x = _pictures(case)
    framed = F.pad(x, (1,) * 4, mode="reflect")
    up, down = framed[..., :-2, 1:-1], framed[..., 2:, 1:-1]
    left, right = framed[..., 1:-1, :-2], framed[..., 1:-1, 2:]
    return difference(case.build()(x), x + 4 * (x - (up + down + left + right) / 4))


class Swapped(ours.Sobel):
    """Is named after the edges that it does not see."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.mT).mT


class Upwards(ours.Sobel):
    """Has y pointing upwards."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (1 if self.direction == "x" else -1)


@law("filter.sobel", wrong=wrong(_black_border)["filter.sobel"])
def a_constant_picture_gives_zero(case: Case) -> float:
    """f(c) = 0"""
    x = torch.full_like(_pictures(case), case.real("c", 0.1, 5))
    return difference(case.build(**_settings(case))(x), torch.zeros_like(x))


@law("filter.sobel", wrong=Swapped)
def it_answers_to_edges_across_its_direction(case: Case) -> float:
    """along x: 4 at both sides of a vertical edge from 0 to 1, and 0 elsewhere and at horizontal edges"""
    direction, size = case.choice("direction", ("x", "y")), case.integer("size", 4, 7)
    edge = case.integer("edge", 2, size - 2)
    place = torch.arange(size).expand(1, 1, size, size)
    vertical, beside = (place >= edge).double(), ((place == edge) | (place == edge - 1)).double()
    f = case.build(direction=direction)
    at_vertical, at_horizontal = f(vertical), f(vertical.mT)
    if direction == "x":
        return difference((at_vertical, at_horizontal), (4 * beside, 0 * beside))
    return difference((at_horizontal, at_vertical), (4 * beside.mT, 0 * beside))


@law("filter.sobel", wrong=Upwards)
def a_slope_of_one_per_pixel_gives_eight(case: Case) -> float:
    """f(x) = 8 away from the border of a picture that is brighter by 1 with each pixel"""
    direction, size = case.choice("direction", ("x", "y")), case.integer("size", 3, 7)
    ramp = torch.arange(size, dtype=torch.float64).expand(1, 1, size, size)
    inside = case.build(direction=direction)(ramp if direction == "x" else ramp.mT)[..., 1:-1, 1:-1]
    return difference(inside, torch.full_like(inside, 8.0))


@law("filter.sobel", wrong=Upwards)
def turning_the_picture_exchanges_the_directions(case: Case) -> float:
    """f_y(x) = f_x(xᵀ)ᵀ"""
    x, direction = _pictures(case), case.choice("direction", ("x", "y"))
    other = ours.Sobel("y" if direction == "x" else "x")
    return difference(case.build(direction=direction)(x), other(x.mT).mT)
