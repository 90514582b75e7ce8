"""Rectangles of pictures, each whole within its picture: what is cut out, or comes from another one."""

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor


def boxes(
    size: tuple[int, int],
    height: Int64[Tensor, " rows"],
    width: Int64[Tensor, " rows"],
    at: Float64[Tensor, "2 rows"],
) -> Bool[Tensor, "rows 1 height width"]:
    """The pixels of a box in each picture, `at` being two numbers from 0 to 1 that say where: all places are alike."""
    tall, wide = size
    top, left = (at[0] * (tall - height + 1)).long(), (at[1] * (wide - width + 1)).long()
    y, x = torch.arange(tall, device=at.device), torch.arange(wide, device=at.device)
    rows = (y >= top[:, None]) & (y < (top + height)[:, None])
    columns = (x >= left[:, None]) & (x < (left + width)[:, None])
    return rows[:, None, :, None] & columns[:, None, None, :]
