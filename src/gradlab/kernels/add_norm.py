"""A sum and its normalisation at once, and for very few rows the affine map behind it too.

    s = x + delta,   y = σ(W norm(s) + b)

Between two products of a layer this is all there is; with one token a text each operation costs its launch.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gradlab.kernels.triton_language import jit, launch, tl, triton

Norm = Literal["none", "layer", "rms"]
Bend = Literal["none", "gelu", "gelu_tanh"]
Kind: TypeAlias = tuple[Norm, Tensor | None, Tensor | None, float]
"""A normalisation: which, its gain, its shift and ε."""
_NORMS: dict[Norm, int] = {"none": 0, "layer": 1, "rms": 2}
_BENDS: dict[Bend, int] = {"none": 0, "gelu": 2, "gelu_tanh": 3}
WIDEST = 4096
"""Features that a program normalises in registers."""
_INPUTS, _WARPS = 4096, 4
_MANY = 16384
"""Outputs from which on a program has more of them, since there are enough programs."""


def add_norm(
    x: Float[Tensor, "rows dim"],
    delta: Float[Tensor, "rows dim"],
    norm: Norm,
    gain: Float[Tensor, " dim"] | None,
    shift: Float[Tensor, " dim"] | None,
    eps: float,
) -> tuple[Float[Tensor, "rows dim"], Float[Tensor, "rows dim"]]:
    """x + delta, and that sum normalised."""
    rows, dim = x.shape
    total, y = torch.empty_like(x), torch.empty_like(x)
    launch(
        _add_norm, (rows,), x, delta, gain, shift, total, y, dim, eps,
        NORM=_NORMS[norm], BLOCK=triton.next_power_of_2(dim), num_warps=_WARPS,
    )  # fmt: skip
    return total, y


def add_norm_affine(
    x: Float[Tensor, "rows dim"],
    delta: Float[Tensor, "rows dim"],
    norm: Norm,
    gain: Float[Tensor, " dim"] | None,
    shift: Float[Tensor, " dim"] | None,
    eps: float,
    weight: Float[Tensor, "outputs dim"],
    bias: Float[Tensor, " outputs"] | None,
    bend: Bend,
) -> tuple[Float[Tensor, "rows dim"], Float[Tensor, "rows outputs"]]:
    """x + delta, and σ(W norm(x + delta) + b). Each row reads the weights again: it is for one row, or a few."""
    rows, dim = x.shape
    total, y = torch.empty_like(x), x.new_empty(rows, len(weight))
    outputs, inputs = 8, triton.next_power_of_2(dim)
    launch(
        _affine, (triton.cdiv(len(weight), outputs), rows),
        x, delta, gain, shift, total, weight, bias, y, len(weight), dim, eps, **bends(bend),
        NORM=_NORMS[norm], OUTPUTS=outputs, INPUTS=inputs, WHOLE=True, num_warps=_WARPS,
    )  # fmt: skip
    return total, y


def affine(
    x: Float[Tensor, "rows dim"], weight: Float[Tensor, "outputs dim"], bias: Float[Tensor, " outputs"] | None
) -> Float[Tensor, "rows outputs"]:
    """W x + b, for as few rows."""
    rows, dim = x.shape
    y = x.new_empty(rows, len(weight))
    # All weights of a program are asked for at once; of a few outputs, so that there are programs for the whole device.
    inputs = min(_INPUTS, triton.next_power_of_2(dim))
    outputs = 16 if len(weight) >= _MANY and inputs <= 1024 else 4
    launch(
        _affine, (triton.cdiv(len(weight), outputs), rows),
        x, None, None, None, None, weight, bias, y, len(weight), dim, 0.0, **bends("none"),
        NORM=_NORMS["none"], OUTPUTS=outputs, INPUTS=inputs, WHOLE=dim <= inputs, num_warps=_WARPS,
    )  # fmt: skip
    return y


def plain_add_norm(
    x: Tensor, delta: Tensor, norm: Norm, gain: Tensor | None, shift: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """`add_norm` in PyTorch's operations."""
    total = x + delta
    if norm == "layer":
        return total, F.layer_norm(total, total.shape[-1:], gain, shift, eps)
    return total, F.rms_norm(total, total.shape[-1:], gain, eps)


def plain_add_norm_affine(
    x: Tensor,
    delta: Tensor,
    norm: Norm,
    gain: Tensor | None,
    shift: Tensor | None,
    eps: float,
    weight: Tensor,
    bias: Tensor | None,
    bend: Bend,
) -> tuple[Tensor, Tensor]:
    """`add_norm_affine` in PyTorch's operations."""
    total, y = plain_add_norm(x, delta, norm, gain, shift, eps)
    return total, plain_bent(F.linear(y, weight, bias), bend)


def plain_bent(x: Tensor, bend: Bend) -> Tensor:
    """`bent` in PyTorch's operations."""
    return x if bend == "none" else F.gelu(x, approximate="tanh" if bend == "gelu_tanh" else "none")


def bends(bend: Bend) -> dict[str, int | bool]:
    """An activation as kernels are given it: only erf is a constant, since it is linked from a library."""
    return {"bend": _BENDS[bend], "ERF": bend == "gelu"}


@jit()
def _normed(s, inside, gain, shift, i, dim, eps, NORM: tl.constexpr):
    """The normalised features of one row, in float32."""
    if NORM == 1:
        s = tl.where(inside, s - tl.sum(s, 0) / dim, 0.0)
    y = s / tl.sqrt(tl.sum(s * s, 0) / dim + eps)  # tl.rsqrt would be linked from a library, which takes long
    if gain is not None:
        y *= tl.load(gain + i, mask=inside, other=0.0).to(tl.float32)
    if shift is not None:
        y += tl.load(shift + i, mask=inside, other=0.0).to(tl.float32)
    return y


@jit()
def _add_norm(x, delta, gain, shift, total, y, dim, eps, NORM: tl.constexpr, BLOCK: tl.constexpr, EARLY: tl.constexpr):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    i = tl.arange(0, BLOCK)
    inside, at = i < dim, tl.program_id(0) * dim + i
    s = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + tl.load(delta + at, mask=inside, other=0.0)
    s = s.to(total.dtype.element_ty)
    tl.store(total + at, s, mask=inside)
    normed = _normed(s.to(tl.float32), inside, gain, shift, i, dim, eps, NORM)
    tl.store(y + at, normed.to(y.dtype.element_ty), mask=inside)


@jit(do_not_specialize=["bend"])
def _affine(
    x, delta, gain, shift, total, weight, bias, y, outputs, dim, eps, bend,
    ERF: tl.constexpr, NORM: tl.constexpr, OUTPUTS: tl.constexpr, INPUTS: tl.constexpr, WHOLE: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """Some outputs of one row. `bend` is no constant of the kernel, so that fewer kernels are compiled."""
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1)
    o = tl.program_id(0) * OUTPUTS + tl.arange(0, OUTPUTS)
    i = tl.arange(0, INPUTS)
    wanted, inside = o < outputs, i < dim
    place = o.to(tl.int64)[:, None] * dim + i[None, :]
    # Asked for first: the weights are on their way while the kernel before this one ends and the row is normalised.
    w = tl.load(weight + place, mask=wanted[:, None] & inside[None, :], other=0.0)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    if NORM == 0:
        part = tl.load(x + row * dim + i, mask=inside, other=0.0)
        sums = w.to(tl.float32) * part.to(tl.float32)[None, :]
        if not WHOLE:
            for start in range(INPUTS, dim, INPUTS):
                inside = start + i < dim
                w = tl.load(weight + start + place, mask=wanted[:, None] & inside[None, :], other=0.0)
                part = tl.load(x + row * dim + start + i, mask=inside, other=0.0)
                sums += w.to(tl.float32) * part.to(tl.float32)[None, :]
        result = tl.sum(sums, 1)
    else:
        s = tl.load(x + row * dim + i, mask=inside, other=0.0).to(tl.float32)
        s += tl.load(delta + row * dim + i, mask=inside, other=0.0)
        s = s.to(total.dtype.element_ty)
        if tl.program_id(0) == 0:
            tl.store(total + row * dim + i, s, mask=inside)
        normed = _normed(s.to(tl.float32), inside, gain, shift, i, dim, eps, NORM)
        # Rounded as it is where the normalised row is written to memory first.
        normed = normed.to(x.dtype.element_ty).to(tl.float32)
        result = tl.sum(w.to(tl.float32) * normed[None, :], 1)
    if bias is not None:
        result += tl.load(bias + o, mask=wanted, other=0.0).to(tl.float32)
    tl.store(y + row * outputs + o, bent(result, bend, ERF).to(y.dtype.element_ty), mask=wanted)


@jit()
def bent(x, bend, ERF: tl.constexpr):
    """σ(x), by number."""
    if ERF:
        x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif bend == 3:
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        # tanh by the exponential of a number that is not positive: it neither overflows nor loses 1.
        small = tl.exp(-2.0 * tl.abs(inner))
        x = 0.5 * x * (1.0 + tl.where(inner < 0, -1.0, 1.0) * (1.0 - small) / (1.0 + small))
    return x
