"""Padding, as it shows in rows of different lengths."""

import torch
from torch import Tensor


def padding(rows: Tensor) -> tuple[int, Tensor] | None:
    """The value that ends most rows (rows, places), in runs of several lengths, and the places of these runs.

    Of rows of vectors (rows, places, width) it is the vector of zeros.
    """
    if rows.ndim not in (2, 3) or len(rows) < 4 or rows.shape[1] < 3:
        return None
    value = int(torch.mode(rows[:, -1]).values) if rows.ndim == 2 else 0
    same = rows == value if rows.ndim == 2 else (rows == 0).all(-1)
    ends = same.flip(1).long().cumprod(1).flip(1).bool()
    runs = ends.sum(1)
    # Runs of chance are short: of a padding, many rows have at least two.
    often = float((runs > 0).float().mean()) >= 0.5 and float((runs >= 2).float().mean()) > 0.4
    return (value, ends) if often and len(torch.unique(runs)) > 2 else None
