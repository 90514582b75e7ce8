"""What is known of the filters of pictures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn import filters as ours
from gradlab.scratch import convolution as twins
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import difference

BLURS = ("filter.mean_blur", "filter.gaussian_blur")
KEEP_CONSTANTS = (*BLURS, "filter.sharpen")
ALL = (*KEEP_CONSTANTS, "filter.sobel")


def _settings(case: Case) -> dict[str, str]:
    return {"direction": case.choice("direction", ("x", "y"))} if case.subject.name == "filter.sobel" else {}


def _pictures(case: Case) -> Tensor:
    batch, channels = case.integer("batch", 1, 2), case.integer("channels", 1, 3)
    return case.tensor("x", batch, channels, case.integer("height", 3, 6), case.integer("width", 3, 6))


def _call(case: Case) -> Call:
    x, settings = _pictures(case), _settings(case)
    return Call(case.build(**settings), (x,), options=settings)


def _scipy(name: str, of: Callable[..., Any] = lambda picture, result: result, **options: Any) -> dict[str, Any]:
    """A filter of scipy, and what is made of its result."""

    def wanted(call: Call) -> Tensor:
        from scipy import ndimage  # type: ignore[import-untyped]

        axis = {"axis": "yx".index(call.options["direction"])} if call.options else {}
        function = getattr(ndimage, name)
        results = [
            [of(picture, function(picture, **options, **axis, mode="mirror")) for picture in pictures]
            for pictures in call.inputs[0].detach().numpy()
        ]
        return torch.from_numpy(np.array(results))

    return {f"scipy.ndimage.{name}": wanted}


HALF = [[1, 4, 7, 4, 1], [4, 16, 26, 16, 4]]
GAUSSIAN = np.array([*HALF, [7, 26, 41, 26, 7], *reversed(HALF)]) / 273
PEERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "filter.mean_blur": (twins.mean_blur, _scipy("uniform_filter", size=5)),
    "filter.gaussian_blur": (twins.gaussian_blur, _scipy("correlate", weights=GAUSSIAN)),
    "filter.sharpen": (twins.sharpen, _scipy("laplace", lambda picture, result: picture - result)),
    "filter.sobel": (twins.sobel, _scipy("sobel")),
}


def _black_border(self: Any, x: Tensor) -> Tensor:
    """Zeros around the picture."""
    kernel = (self.kernel.to(x.dtype) / self.divisor).expand(x.shape[1], 1, -1, -1)
    return F.conv2d(x, kernel, padding=len(self.kernel) // 2, groups=x.shape[1])


black_border = Fault(forward=_black_border)
COMMON = [
    Fault(forward=lambda self, x: 2 * x - self.right(x)),
    Fault(forward=lambda self, x: self.right(x.roll(1, -1))),
]
FAULTS: dict[str, list[Any]] = {
    "filter.mean_blur": [*COMMON, lambda: ours.GaussianBlur()],
    "filter.gaussian_blur": COMMON,
    "filter.sharpen": COMMON,
    "filter.sobel": [Fault(forward=lambda self, x: self.right(x) * (1 if self.direction == "x" else -1))],
}
for _name, (_twin, _peer) in PEERS.items():
    conform(_name, _call, twin=_twin, peer=_peer, fault=FAULTS[_name])
SIZES = {"n": 2, "c": 3, "h": 6, "w": 7}
example(*KEEP_CONSTANTS, call=lambda **sizes: ({}, (torch.randn(*sizes.values()),)), **SIZES)
example("filter.sobel", call=lambda **sizes: ({"direction": "x"}, (torch.randn(*sizes.values()),)), **SIZES)

# Laws


@law(*KEEP_CONSTANTS, fault=black_border)
def a_constant_picture_stays_as_it_is(case: Case) -> float:
    """f(c) = c: the kernel sums to 1, and the border adds no black"""
    x = torch.full_like(_pictures(case), case.real("c", 0.1, 5))
    return difference(case.build()(x), x)


@law("filter.sobel", fault=black_border)
def a_constant_picture_gives_zero(case: Case) -> float:
    """f(c) = 0: the kernel sums to 0"""
    x = torch.full_like(_pictures(case), case.real("c", 0.1, 5))
    return difference(case.build(**_settings(case))(x), torch.zeros_like(x))


@law(*ALL, fault=Fault(forward=lambda self, x: self.right(x.mean(1, keepdim=True).expand_as(x))))
def each_channel_is_filtered_alone(case: Case) -> float:
    """f(x)_c = f(x_c)"""
    x, f = _pictures(case), case.build(**_settings(case))
    return difference(f(x), torch.cat([f(x[:, [c]]) for c in range(x.shape[1])], 1))


@law("filter.sobel", fault=Fault(forward=lambda self, x: self.right(x.mT).mT))
def it_answers_to_edges_across_its_direction(case: Case) -> float:
    """along x: 4 at both sides of a vertical edge from 0 to 1, and 0 elsewhere and at horizontal edges"""
    direction, size = case.choice("direction", ("x", "y")), case.integer("size", 4, 7)
    edge, place = case.integer("edge", 2, size - 2), torch.arange(size).expand(1, 1, size, size)
    vertical, beside = (place >= edge).double(), ((place == edge) | (place == edge - 1)).double()
    f = case.build(direction=direction)
    if direction == "x":
        return difference((f(vertical), f(vertical.mT)), (4 * beside, 0 * beside))
    return difference((f(vertical.mT), f(vertical)), (4 * beside.mT, 0 * beside))
