"""What is known of convolutions that see only what comes before."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn.masked_convolution import GatedPixelLayer, MaskedConv2d, gate
from gradlab.scratch import masked_convolution as twins
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law

MASKED, GATED = "conv.masked2d", "conv.gated_pixel"


def _masked(case: Case) -> tuple[Any, dict[str, Any]]:
    settings: dict[str, Any] = {name: case.integer(name, 1, 3) for name in ("in_channels", "out_channels")}
    settings |= {"seen": case.choice("seen", ("above", "left")), "strict": case.flag("strict")}
    settings["kernel_size"] = case.choice("kernel_size", (3, 5) if settings["strict"] else (3, 5, 1))
    return case.build(**settings), settings


def _pictures(case: Case, channels: int, *names: str) -> tuple[Tensor, ...]:
    batch, height, width = case.integer("batch", 1, 2), case.integer("height", 1, 5), case.integer("width", 1, 5)
    return tuple(case.tensor(name, batch, channels, height, width) for name in names)


def _masked_call(case: Case) -> Call:
    block, settings = _masked(case)
    options = {name: settings[name] for name in ("seen", "strict")}
    weights = case.weights(block, "weight", "bias")
    return Call(block, _pictures(case, settings["in_channels"], "x"), weights, options, settings)


def _by_a_full_kernel(call: Call) -> Tensor:
    """A k × k convolution of torch's, with the weights in their places and 0 in all others."""
    x, weight, k = call.inputs[0], call.weights["weight"], call.settings["kernel_size"]
    r, fewer = k // 2, int(call.settings["strict"])
    frame = (0, 0, 0, r + fewer) if call.settings["seen"] == "above" else (0, r + fewer, r, r)
    return F.conv2d(x, F.pad(weight, frame), call.weights["bias"], padding=r)


_ORDER = (
    "vertical.weight", "vertical.bias", "horizontal.weight", "link.weight", "link.bias", "out.weight", "out.bias",
)  # fmt: skip


def _gated_call(case: Case) -> Call:
    channels = case.integer("channels", 1, 3)
    block = case.build(channels=channels, kernel_size=case.choice("kernel_size", (3, 5, 1)))
    return Call(block, _pictures(case, channels, "v", "h"), case.weights(block, *_ORDER))


conform(MASKED, _masked_call, twin=twins.masked_conv2d, peer={"torch.nn.functional.conv2d": _by_a_full_kernel})
conform(GATED, _gated_call, twin=twins.gated_pixel)


def _masked_example(n: int, c: int, h: int, k: int, s: int, m: int) -> Any:
    return {"in_channels": c, "out_channels": h, "kernel_size": k}, (torch.randn(n, c, m, m),)


def _gated_example(n: int, c: int, k: int, r: int, m: int) -> Any:
    return {"channels": c, "kernel_size": k}, (torch.randn(n, c, m, m), torch.randn(n, c, m, m))


example(MASKED, call=_masked_example, n=2, c=3, h=4, k=3, s=6, m=5)
example(GATED, call=_gated_example, n=2, c=4, k=3, r=1, m=5)

# Laws: what is seen, by where the gradient of an output is not 0


def _seen(y: Tensor, x: Tensor) -> Tensor:
    """For each place of an output of one picture, which pixels of the input it depends on."""
    places = y.sum((0, 1)).flatten()
    slopes = [torch.autograd.grad(place, x, retain_graph=True)[0].abs().sum((0, 1)) for place in places]
    return torch.stack(slopes).reshape(*y.shape[2:], *x.shape[2:]) != 0


def _before(size: torch.Size, reach: int, row: bool = True, above: bool = True) -> Tensor:
    """Of each place, the pixels before it in reading order, in rows and columns that are at most so far."""
    i, j = map(torch.arange, size)
    down, across = i[:, None, None, None] - i[:, None], j[None, :, None, None] - j
    near = (down.abs() <= reach) & (across.abs() <= reach)
    return near & ((row & (down == 0) & (across > 0)) | (above & (down > 0)))


def _positive(case: Case, block: Any) -> Any:
    """With weights between which nothing cancels."""
    draw = case.generator("weights")
    for parameter in block.to(case.place.dtype).parameters():
        parameter.data.copy_(0.05 + 0.1 * torch.rand(parameter.shape, generator=draw, dtype=torch.float64))
    return block


def _alone(case: Case, least: int) -> Tensor:
    """One picture of one channel."""
    return case.positive("x", 1, 1, case.integer("height", least, 6), case.integer("width", least, 6))


_ahead = Fault(forward=lambda self, x: self.right(F.pad(x, (-1, 1, -1, 1))))
_mirrored = Fault(forward=lambda self, x: self.right(x.flip(-1)).flip(-1))


@law(MASKED, fault=[_ahead, _mirrored, lambda **settings: MaskedConv2d(**settings | {"strict": False})])
def a_strict_one_sees_what_comes_before_and_nothing_else(case: Case) -> float:
    """∂y[i, j] / ∂x[k, l] ≠ 0  ⟺  k < i, or k = i and l < j, and both are at most r away: above, or left"""
    seen, kernel = case.choice("seen", ("left", "above")), case.choice("kernel_size", (3, 5))
    block = case.build(in_channels=1, out_channels=2, kernel_size=kernel, seen=seen, strict=True)
    x = _alone(case, 2)
    wanted = _before(x.shape[2:], kernel // 2, row=seen == "left", above=seen == "above")
    return float((_seen(_positive(case, block)(x), x) != wanted).sum())


class _OneStack(GatedPixelLayer):
    """Sees rows above by kernels that are masked in reading order, as the first PixelCNN did: with a blind spot."""

    def forward(self, v: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        r, past = self.kernel_size // 2, self.vertical.weight.clone()
        past[:, :, -1, r + 1 :] = 0
        above = F.conv2d(F.pad(h, (r, r, r, 0)), past, self.vertical.bias)
        return v, self.across(h, self.horizontal(h) + self.link(above))


class _Ahead(GatedPixelLayer):
    """Gives h what is only v's at the next row: all of its own."""

    def forward(self, v: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        above = self.vertical(F.pad(v, (0, 0, -1, 1)))
        return v + gate(above), self.across(h, self.horizontal(h) + self.link(above))


_stopped = Fault(forward=lambda self, v, h: (v, self.right(v, h)[1]))  # v as it was: its rectangle does not grow


@law(GATED, fault=[_OneStack, _Ahead, _stopped])
def layers_see_all_pixels_before_and_none_after(case: Case) -> float:
    """∂h[i, j] / ∂x[k, l] ≠ 0  ⟺  (k, l) is before (i, j) in reading order, and at most the sum of the r away"""
    layers = case.integer("layers", 2, 3)
    x = _alone(case, 5)
    v, h = (_positive(case, MaskedConv2d(1, 2, 3, seen, strict=True))(x) for seen in ("above", "left"))
    for _ in range(layers):
        v, h = _positive(case, case.build(channels=2, kernel_size=3))(v, h)
    return float((_seen(h, x) != _before(x.shape[2:], layers + 1)).sum())
