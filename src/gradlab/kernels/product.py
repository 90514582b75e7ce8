"""The affine map of a few rows, σ(W x + b): each program has some outputs, and reads all of their weights.

A library divides such a product among few programs, or adds up its parts in a second kernel.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from gradlab.kernels.add_norm import Bend, bends, bent
from gradlab.kernels.triton_language import jit, launch, tl, triton

MOST = 64
"""Rows up to which reading the weights is what takes time."""
LARGEST = 16384
"""Outputs up to which more programs are wanted, rather than larger ones."""
_OUTPUTS, _INPUTS, _STAGES, _WARPS = 16, 256, 4, 4


def product(
    x: Float[Tensor, "rows dim"],
    weight: Float[Tensor, "outputs dim"],
    bias: Float[Tensor, " outputs"] | None,
    bend: Bend = "none",
) -> Float[Tensor, "rows outputs"]:
    """σ(W x + b), summed in float32."""
    (rows, dim), outputs = x.shape, len(weight)
    y = x.new_empty(rows, outputs)
    block = 16 if rows <= 16 else 32
    launch(
        _product, (triton.cdiv(outputs, _OUTPUTS), triton.cdiv(rows, block)),
        x, weight, bias, y, rows, outputs, dim, **bends(bend),
        ROWS=block, OUTPUTS=_OUTPUTS, INPUTS=_INPUTS, STAGES=_STAGES, num_warps=_WARPS,
    )  # fmt: skip
    return y


@jit(do_not_specialize=["rows", "bend"])
def _product(
    x, weight, bias, y, rows, outputs, dim, bend,
    ERF: tl.constexpr, ROWS: tl.constexpr, OUTPUTS: tl.constexpr, INPUTS: tl.constexpr, STAGES: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    o = tl.program_id(0) * OUTPUTS + tl.arange(0, OUTPUTS)
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, INPUTS)
    wanted, there = o < outputs, r < rows
    weights = weight + o.to(tl.int64)[:, None] * dim
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
        # The weights come as far as the cache of the chip while the kernel before this one ends, 64 of them in a line.
        for start in range(0, dim, 16 * 64):
            last = tl.minimum(tl.arange(0, 16) * 64 + start, dim - 1)
            line = weight + tl.minimum(o, outputs - 1).to(tl.int64)[:, None] * dim + last[None, :]
            tl.inline_asm_elementwise(
                "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [line.to(tl.int64, bitcast=True)], tl.int32, False, 1
            )
        tl.extra.cuda.gdc_wait()
    sums = tl.zeros((ROWS, OUTPUTS), tl.float32)
    for start in tl.range(0, dim, INPUTS, num_stages=STAGES):
        inside = start + i < dim
        w = tl.load(weights + start + i[None, :], mask=wanted[:, None] & inside[None, :], other=0.0)
        part = tl.load(x + r[:, None] * dim + start + i[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        sums = tl.dot(part, tl.trans(w), sums, input_precision="ieee")
    if bias is not None:
        sums += tl.load(bias + o, mask=wanted, other=0.0).to(tl.float32)[None, :]
    at = r[:, None] * outputs + o[None, :]
    tl.store(y + at, bent(sums, bend, ERF).to(y.dtype.element_ty), mask=there[:, None] & wanted[None, :])
