"""Pictures moved, turned and bent: all of it in one pass over their pixels."""

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

Edge = Literal["black", "border", "reflect"]

_PADDING = {"black": "zeros", "border": "border", "reflect": "reflection"}

Each = Float64[Tensor, " rows"]


class Warp(NamedTuple):
    r"""What happens to each picture, positions being pixels from its centre, y downwards.

    $$ p = R_θ \begin{pmatrix} 1 & m \\ 0 & 1 \end{pmatrix} \begin{pmatrix} s_x & 0 \\ 0 & s_y \end{pmatrix}
       F c^{-1} (q - o) + d, \qquad q' = q \left(1 + k \tfrac{|q|^2}{r^2}\right) $$

    The pixel at p shows what was at q': of the picture a window of size c around o is taken, it is mirrored (F),
    stretched, sheared and turned against the clock, and moved by d. r is half the diagonal, and k > 0 is a barrel.
    """

    mirrored: Bool[Tensor, " rows"]
    right: Each
    down: Each
    degrees: Each
    stretch_x: Each
    stretch_y: Each
    shear: Each
    window: Each
    window_x: Each
    window_y: Each
    lens: Each


def still(rows: int, device: torch.device) -> Warp:
    """A warp that changes nothing."""
    one, zero = torch.ones(rows, device=device, dtype=torch.float64), torch.zeros(rows, device=device).double()
    return Warp(zero > 0, zero, zero, zero, one, one, zero, one, zero, zero, zero)


def warped(
    pictures: Float[Tensor, "rows channels height width"], warp: Warp, edge: Edge, black: Float[Tensor, "channels 1 1"]
) -> Float[Tensor, "rows channels height width"]:
    """Each picture resampled once, bilinearly; what comes from beyond its edges is as `edge` says."""
    height, width = pictures.shape[-2:]
    # Of each example alone, never by a product of matrices, whose order of adding may depend on the size of a batch:
    # in float64 and then rounded, so that an example has the same bits in every batch.
    (a, b), (c, d) = _inverse(warp)
    matrix = torch.stack([a, b, warp.window_x, c, d, warp.window_y]).float()[:, :, None, None]
    offset = torch.stack([warp.right, warp.down]).float()[:, :, None, None]
    x = _from_centre(width, pictures.device)[None, None, :] - offset[0]
    y = _from_centre(height, pictures.device)[None, :, None] - offset[1]
    at_x = matrix[0] * x + matrix[1] * y + matrix[2]
    at_y = matrix[3] * x + matrix[4] * y + matrix[5]
    bent = 1 + (warp.lens * 4 / (height**2 + width**2)).float()[:, None, None] * (at_x * at_x + at_y * at_y)
    grid = torch.stack([at_x * bent * (2 / width), at_y * bent * (2 / height)], dim=-1).to(pictures.dtype)
    if edge != "black":
        return F.grid_sample(pictures, grid, padding_mode=_PADDING[edge], align_corners=False)
    return F.grid_sample(pictures - black, grid, padding_mode="zeros", align_corners=False) + black


def _inverse(warp: Warp) -> tuple[tuple[Each, Each], tuple[Each, Each]]:
    """From where a pixel is to where it was: c F S⁻¹ M⁻¹ R⁻¹."""
    angle = torch.deg2rad(warp.degrees)
    cos, sin = angle.cos(), angle.sin()
    # Against the clock where y points down: R⁻¹ = [[cos, −sin], [sin, cos]].
    along = torch.where(warp.mirrored, -warp.window, warp.window) / warp.stretch_x
    across = warp.window / warp.stretch_y
    return (
        (along * (cos - warp.shear * sin), along * (-sin - warp.shear * cos)),
        (across * sin, across * cos),
    )


def _from_centre(size: int, device: torch.device) -> Float[Tensor, " size"]:
    return torch.arange(size, device=device, dtype=torch.float32) - (size - 1) / 2


def shifted(
    pictures: Float[Tensor, "rows channels height width"],
    mirrored: Bool[Tensor, " rows"],
    right: Int64[Tensor, " rows"],
    down: Int64[Tensor, " rows"],
    edge: Edge,
    black: Float[Tensor, "channels 1 1"],
) -> Float[Tensor, "rows channels height width"]:
    """Mirrored and moved by whole pixels: every pixel is a copy of one."""
    rows, channels, height, width = pictures.shape
    device = pictures.device
    x, y = torch.arange(width, device=device) - right[:, None], torch.arange(height, device=device) - down[:, None]
    x, y = torch.where(mirrored[:, None], width - 1 - x, x), y
    moved = pictures[
        torch.arange(rows, device=device)[:, None, None, None],
        torch.arange(channels, device=device)[:, None, None],
        _within(y, height, edge)[:, None, :, None],
        _within(x, width, edge)[:, None, None, :],
    ]
    if edge != "black":
        return moved
    beyond = ((x < 0) | (x >= width))[:, None, None, :] | ((y < 0) | (y >= height))[:, None, :, None]
    return torch.where(beyond, black, moved)


def _within(place: Int64[Tensor, "rows size"], size: int, edge: Edge) -> Int64[Tensor, "rows size"]:
    """The pixel that stands for each place. The picture is reflected at the edge of its outermost pixels."""
    if edge != "reflect":
        return place.clamp(0, size - 1)
    place = place % (2 * size)
    return torch.minimum(place, 2 * size - 1 - place)
