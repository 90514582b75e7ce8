"""The cross-entropy of rows of logits and its gradient in one kernel, which puts the one where the other was."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK, _WARPS = 4096, 8
_IGNORED = tl.constexpr(-100)
_LOWEST = tl.constexpr(-1e30)  # of no logit, and finite: the difference of two infinities would be NaN


def surprise(logits: Tensor, targets: Tensor, classes: int) -> Tensor:
    """The loss of each row, in float32. The logits become softmax - one-hot, and 0 in columns beyond the classes."""
    losses = torch.empty(len(logits), device=logits.device)
    block = min(_BLOCK, triton.next_power_of_2(logits.shape[1]))
    _surprise[(len(logits),)](
        logits,
        targets,
        losses,
        logits.stride(0),
        CLASSES=classes,
        COLUMNS=logits.shape[1],
        BLOCK=block,
        num_warps=_WARPS,
    )
    return losses


@triton.jit  # type: ignore[untyped-decorator]
def _surprise(  # type: ignore[no-untyped-def]
    logits,
    targets,
    losses,
    stride,
    CLASSES: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride
    target = tl.load(targets + row)
    asked = target != _IGNORED
    # A target that is no class costs an infinite loss, which the guard of a training finds.
    there = asked & (target >= 0) & (target < CLASSES)
    right = tl.load(start + target, mask=there, other=float("-inf")).to(tl.float32)

    # Each lane has its own running maximum and the sum of its exponentials beside it; they are put together at the end.
    highest = tl.full([BLOCK], _LOWEST, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    # Loads end with the padded columns, whose number is even: with that of the classes they would be one by one.
    for first in range(0, COLUMNS, BLOCK):
        at = first + tl.arange(0, BLOCK)
        z = tl.load(start + at, mask=at < COLUMNS, other=0.0).to(tl.float32)
        z = tl.where(at < CLASSES, z, _LOWEST)
        higher = tl.maximum(highest, z)
        total = total * tl.exp(highest - higher) + tl.exp(z - higher)
        highest = higher
    most = tl.max(highest, 0)
    whole = most + tl.log(tl.sum(total * tl.exp(highest - most), 0))
    tl.store(losses + row, tl.where(asked, whole - right, 0.0))

    for first in range(0, COLUMNS, BLOCK):
        at = first + tl.arange(0, BLOCK)
        z = tl.load(start + at, mask=at < COLUMNS, other=0.0).to(tl.float32)
        slope = tl.exp(z - whole) - tl.where(at == target, 1.0, 0.0)
        slope = tl.where(asked & (at < CLASSES), slope, 0.0)
        tl.store(start + at, slope.to(logits.dtype.element_ty), mask=at < COLUMNS)
