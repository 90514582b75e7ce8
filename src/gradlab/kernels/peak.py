"""The most probable token of each row, written where the device says."""

from __future__ import annotations

from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.kernels.triton_language import jit, launch, tl, triton

_BLOCK, _WARPS = 8192, 16


def write_peak(
    logits: Float[Tensor, "rows vocabulary"],
    page: Int64[Tensor, "rows width"],
    peaks: Float[Tensor, "width rows"],
    position: Int64[Tensor, 1],
    chosen: Int64[Tensor, "rows 1"],
) -> None:
    """Write the first of the largest logits of each row to `chosen` and to the page, and that logit to the peaks, which
    is +∞ where a logit is NaN."""
    rows, size = logits.shape
    launch(
        _write_peak, (rows,), logits, page, peaks, position, chosen, logits.stride(0), size, page.stride(0), rows,
        BLOCK=min(_BLOCK, triton.next_power_of_2(size)), num_warps=_WARPS,
    )  # fmt: skip


@jit(do_not_specialize=["rows", "width"])
def _write_peak(
    logits, page, peaks, position, chosen, stride, size, width, rows, BLOCK: tl.constexpr, EARLY: tl.constexpr
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    best, place = tl.full((BLOCK,), float("-inf"), tl.float32), tl.zeros((BLOCK,), tl.int32)
    for start in range(0, size, BLOCK):
        at = start + i
        x = tl.load(logits + row.to(tl.int64) * stride + at, mask=at < size, other=float("-inf")).to(tl.float32)
        x = tl.where(x != x, float("inf"), x)
        place = tl.where(x > best, at, place)
        best = tl.maximum(best, x)
    peak = tl.max(best, 0)
    token = tl.min(tl.where(best == peak, place, size), 0).to(tl.int64)
    at = tl.load(position)
    tl.store(chosen + row, token)
    tl.store(page + row * width + at, token)
    tl.store(peaks + at * rows + row, peak)
