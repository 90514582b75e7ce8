"""The cross-entropy of rows of logits and its gradient in one kernel, which puts the one where the other was."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK, _WARPS = 4096, 16
# A row of so many columns fits into the registers of a block of threads (on sm_90), so that it is read once and each of
# its exponentials is taken once. Longer ones are read twice.
_HELD = 13 * _BLOCK
_IGNORED = tl.constexpr(-100)
_LOWEST = tl.constexpr(-1e30)  # of no logit, and finite: the difference of two infinities would be NaN


def surprise(logits: Tensor, targets: Tensor, classes: int) -> Tensor:
    """The loss of each row, in float32. The logits become softmax - one-hot, and 0 in columns beyond the classes."""
    losses, columns = torch.empty(len(logits), device=logits.device), logits.shape[1]
    block = min(_BLOCK, triton.next_power_of_2(columns))
    _surprise[(len(logits),)](
        logits,
        targets,
        losses,
        logits.stride(0),
        CLASSES=classes,
        COLUMNS=columns,
        BLOCK=block,
        HELD=columns <= _HELD,
        num_warps=max(1, block * _WARPS // _BLOCK),
    )
    return losses


@triton.jit
def _surprise(
    logits,
    targets,
    losses,
    stride,
    CLASSES: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
    HELD: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * stride
    target = tl.load(targets + row)
    counted = target != _IGNORED
    # A target that is no class costs an infinite loss, which the guard of a training finds.
    there = counted & (target >= 0) & (target < CLASSES)
    right = tl.load(start + target, mask=there, other=float("-inf")).to(tl.float32)

    # Each lane has its own maximum and sum; they are put together at the end.
    highest = tl.full([BLOCK], _LOWEST, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    if HELD:
        parts = ()
        for first in tl.static_range(0, COLUMNS, BLOCK):
            z = _part(start, first, CLASSES, COLUMNS, BLOCK)
            highest = tl.maximum(highest, z)
            parts += (z,)  # type: ignore[assignment]
        most = tl.max(highest, 0)
        weights = ()
        for i in tl.static_range(len(parts)):
            weight = tl.exp(parts[i] - most)
            total += weight
            weights += (weight,)  # type: ignore[assignment]
        divisor = tl.sum(total, 0)
        whole = most + tl.log(divisor)
        factor = tl.where(counted, 1.0 / divisor, 0.0)
        for i in tl.static_range(len(weights)):
            _put(start, i * BLOCK, weights[i] * factor, COLUMNS, BLOCK)
    else:
        for first in range(0, COLUMNS, BLOCK):
            z = _part(start, first, CLASSES, COLUMNS, BLOCK)
            higher = tl.maximum(highest, z)
            total = total * tl.exp(highest - higher) + tl.exp(z - higher)
            highest = higher
        most = tl.max(highest, 0)
        whole = most + tl.log(tl.sum(total * tl.exp(highest - most), 0))
        factor = tl.where(counted, 1.0, 0.0)
        for first in range(0, COLUMNS, BLOCK):
            z = _part(start, first, CLASSES, COLUMNS, BLOCK)
            _put(start, first, tl.exp(z - whole) * factor, COLUMNS, BLOCK)
    tl.store(losses + row, tl.where(counted, whole - right, 0.0))
    tl.debug_barrier()  # the threads that wrote the row have done so
    tl.store(start + target, (tl.exp(right - whole) - 1.0).to(logits.dtype.element_ty), mask=there)


@triton.jit
def _part(start, first, CLASSES: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    # Loads end with the padded columns, whose number is even: with that of the classes they would be one by one.
    z = tl.load(start + at, mask=at < COLUMNS, other=0.0).to(tl.float32)
    return tl.where(at < CLASSES, z, _LOWEST)


@triton.jit
def _put(start, first, slope, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    tl.store(start + at, slope.to(start.dtype.element_ty), mask=at < COLUMNS)
