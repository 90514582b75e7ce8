"""How probable black and white pixels are under rows of logits, and the gradient: each logit is read once for either.

PyTorch's operations for it pass over the logits some ten times, in float32, which took two thirds of a training step
with fifty codes for each picture.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.kernels.triton_language import jit, start, tl, triton

_ROWS, _COLUMNS, _WARPS = 4, 1024, 4


class BernoulliLogProbability(torch.autograd.Function):
    """log p(x) of each row of logits, in float32; row r is of example r mod n, and examples have no gradient."""

    @staticmethod
    def forward(
        ctx: Any, logits: Float[Tensor, "rows numbers"], x: Float[Tensor, "n numbers"]
    ) -> Float[Tensor, " rows"]:
        ctx.save_for_backward(logits, x)
        y = torch.empty(len(logits), device=logits.device)
        _launch(_log_probability, logits, x, y)
        return y

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, " rows"]) -> tuple[Tensor, None]:
        logits, x = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        _launch(_gradient, logits, x, slope.contiguous(), gradient)
        return gradient, None


def _launch(kernel: Any, logits: Tensor, x: Tensor, *others: Tensor) -> None:
    rows, numbers = logits.shape
    columns = min(_COLUMNS, triton.next_power_of_2(numbers))
    sizes = {"ROWS": _ROWS, "COLUMNS": columns, "num_warps": _WARPS}
    start(kernel, (triton.cdiv(rows, _ROWS),), logits, x, *others, rows, len(x), numbers, **sizes)


@jit()
def _log_probability(logits, x, y, rows, examples, numbers, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    total = tl.zeros([ROWS], tl.float32)
    for first in range(0, numbers, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        there = (row < rows)[:, None] & (column < numbers)[None, :]
        z = tl.load(logits + row[:, None] * numbers + column, mask=there, other=0.0).to(tl.float32)
        pixel = tl.load(x + (row % examples)[:, None] * numbers + column, mask=there, other=0.0).to(tl.float32)
        softplus = tl.maximum(z, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(z)))
        total += tl.sum(tl.where(there, pixel * z - softplus, 0.0), 1)
    tl.store(y + row, total, mask=row < rows)


@jit()
def _gradient(logits, x, slope, gradient, rows, examples, numbers, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    weight = tl.load(slope + row, mask=row < rows, other=0.0)
    for first in range(0, numbers, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        there = (row < rows)[:, None] & (column < numbers)[None, :]
        at = row[:, None] * numbers + column
        z = tl.load(logits + at, mask=there, other=0.0).to(tl.float32)
        pixel = tl.load(x + (row % examples)[:, None] * numbers + column, mask=there, other=0.0).to(tl.float32)
        small = tl.exp(-tl.abs(z))
        sigmoid = tl.where(z >= 0, 1.0, small) / (1.0 + small)
        tl.store(gradient + at, (weight[:, None] * (pixel - sigmoid)).to(gradient.dtype.element_ty), mask=there)
