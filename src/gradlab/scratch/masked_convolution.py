"""Convolutions of what comes before, and the gated layer of a PixelCNN."""

from gradlab.scratch.convolution import conv2d
from gradlab.scratch.functions import pad, sigmoid, tanh
from gradlab.scratch.tensor import Tensor


def masked_conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, seen: str = "above", strict: bool = False
) -> Tensor:
    """A convolution of the rows above each place (and its own), or of what is left of it in its row (and itself).

    The picture is moved down or to the right, into a frame of zeros, so that the last entry of the kernel is at the
    place itself, or just before it.
    """
    rows, columns = weight.shape[2:]
    height, width = x.shape[2:]
    if seen == "above":
        frame = [(0, 0), (0, 0), (rows - 1 + strict, 0), (columns // 2, columns // 2)]
    else:
        frame = [(0, 0), (0, 0), (0, 0), (columns - 1 + strict, 0)]
    return conv2d(pad(x, frame), weight, bias)[:, :, :height, :width]


def gated_pixel(
    v: Tensor, h: Tensor, down: Tensor, down_bias: Tensor, left: Tensor, link: Tensor, link_bias: Tensor, out: Tensor,
    out_bias: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """v' = v + g(V v) and h' = h + W g(H h + U V v), where g is tanh of half the channels by sigmoid of the others."""
    above = masked_conv2d(v, down, down_bias)
    seen = masked_conv2d(h, left, seen="left") + conv2d(above, link, link_bias)
    return v + _gate(above), h + conv2d(_gate(seen), out, out_bias)


def _gate(maps: Tensor) -> Tensor:
    half = maps.shape[1] // 2
    return tanh(maps[:, :half]) * sigmoid(maps[:, half:])
