"""What lies between the products of a transformer's layer in training: sums, norms, GELUs and dropout, each pass once.

    s = x + m ⊙ δ,   y = norm(s)          `add_norm`
    a = m ⊙ gelu(h)                       `bend`

m is 0 where dropout drops, and else 1/(1 - p). It is drawn again backwards from the same seed rather than kept. The
gradient of a bias is a sum over all rows, and so are those of gain and shift: programs that go over the rows of a
gradient add up theirs on the way, and leave them in a row of `parts` each.
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gradlab.kernels.triton_language import start

_GROUP = tl.constexpr(8)  # rows that share one draw, of which each takes 16 bits
_ROUNDS = tl.constexpr(7)  # of Philox: as many as pass the usual tests of random numbers
_COLUMNS, _WARPS = 512, 2  # of a program that goes over each number by itself
_WAVES = 8  # programs for each multiprocessor, of those that add up parts


class LayerKernels:
    """Passes over the rows of one batch, with a probability of dropout and a seed for each place where it drops."""

    def __init__(self, rows: int, dropout: float, seeds: Tensor):
        self.rows, self.seeds = rows, seeds
        self.least = round(dropout * 2**16)
        self.keep = 2**16 / max(1, 2**16 - self.least)  # of nothing, where all is dropped
        self.groups = triton.cdiv(rows, _GROUP.value)

    def parts(self, columns: int) -> Tensor:
        """Room for what each program adds up; the sum over its rows is the gradient."""
        programs = min(self.groups, _WAVES * _multiprocessors(self.seeds.device))
        return torch.empty(programs, columns, device=self.seeds.device)

    def add_norm(
        self, x: Tensor, delta: Tensor | None, gain: Tensor, shift: Tensor, eps: float, place: int, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """s, y, and means and scales of its rows."""
        total, y = x if delta is None else torch.empty_like(x), torch.empty_like(x, dtype=dtype)
        means, scales = x.new_empty(2, self.rows)
        self._add_norm(x, delta, gain, shift, eps, total, y, means, scales, place)
        return total, y, means, scales

    def add(self, x: Tensor, delta: Tensor, place: int) -> Tensor:
        """s"""
        total = torch.empty_like(x)
        self._add_norm(x, delta, None, None, 0.0, total, None, None, None, place)
        return total

    def _add_norm(self, *arguments: Any) -> None:
        x, delta = arguments[:2]
        start(
            _add_norm,
            (self.groups,),
            *arguments,
            self.seeds,
            self.least,
            self.keep,
            self.rows,
            **self._rowwise(x.shape[1], delta is not None, arguments[2] is not None),
        )

    def add_norm_back(
        self,
        dy: Tensor,
        later: Tensor,
        kept: tuple[Tensor, Tensor, Tensor, Tensor],
        parts: Tensor,
        place: int,
        *,
        delta: bool = True,
    ) -> tuple[Tensor, Tensor]:
        """The gradients of x and of δ, if there was one, in the type of `dy`.

        `dy` comes back to y, and `later` to s. `kept` are s, the gain, means and scales. Parts are those of gain and
        shift, and of the bias behind δ.
        """
        dx, ddelta = torch.empty_like(later), torch.empty_like(dy if delta else dy[:0])
        self._add_norm_back(dy, later, *kept, dx, ddelta if delta else None, parts, parts.stride(0), place)
        return dx, ddelta

    def add_back(self, later: Tensor, parts: Tensor, place: int, dtype: torch.dtype) -> Tensor:
        """The gradient of δ. Parts are those of the bias behind it."""
        ddelta = torch.empty_like(later, dtype=dtype)
        self._add_norm_back(None, later, *[None] * 5, ddelta, parts, parts.stride(0), place)
        return ddelta

    def _add_norm_back(self, *arguments: Any) -> None:
        _, later, *_, ddelta, parts, _, _ = arguments
        start(
            _add_norm_back, (len(parts),),
            *arguments, self.seeds, self.least, self.keep, self.rows, triton.cdiv(self.groups, len(parts)),
            **self._rowwise(later.shape[1], ddelta is not None, arguments[0] is not None),
        )  # fmt: skip

    def bend(self, h: Tensor, approximate: str, place: int) -> Tensor:
        """a"""
        a = torch.empty_like(h)
        start(
            _bend, (self.groups, triton.cdiv(h.shape[1], _COLUMNS)),
            h, a, self.seeds, place, self.least, self.keep, self.rows, **self._by_number(h, approximate),
        )  # fmt: skip
        return a

    def bend_back(self, h: Tensor, da: Tensor, approximate: str, parts: Tensor, place: int) -> Tensor:
        """The gradient of h. Parts are those of the bias in it."""
        dh, programs = torch.empty_like(h), len(parts)
        start(
            _bend_back, (programs, triton.cdiv(h.shape[1], _COLUMNS)),
            h, da, dh, parts, parts.stride(0), self.seeds, place, self.least, self.keep, self.rows,
            triton.cdiv(self.groups, programs), **self._by_number(h, approximate),
        )  # fmt: skip
        return dh

    def beside(self, three: Sequence[Tensor], parts: Tensor) -> Tensor:
        """The gradients of queries, keys and values side by side, as one product gave them. Parts are of its bias."""
        dim, programs = three[0].shape[1], len(parts)
        together = torch.empty(self.rows, 3 * dim, dtype=three[0].dtype, device=three[0].device)
        start(
            _beside, (programs, 3),
            *three, together, parts, parts.stride(0), self.rows, triton.cdiv(self.groups, programs),
            DIM=dim, BLOCK=triton.next_power_of_2(dim), num_warps=max(1, dim // 1024),
        )  # fmt: skip
        return together

    def _rowwise(self, dim: int, delta: bool, norm: bool) -> dict[str, int | bool]:
        block, drop = triton.next_power_of_2(dim), delta and self.least > 0
        # Fewer warps wait less for each other to sum a row; more of them have room for what was drawn.
        columns = 512 if norm and not drop else 256
        return {"DIM": dim, "DROP": drop, "BLOCK": block, "num_warps": max(1, block // columns)}

    def _by_number(self, h: Tensor, approximate: str) -> dict[str, int | bool]:
        sizes = {"DIM": h.shape[1], "DROP": self.least > 0, "BLOCK": _COLUMNS, "num_warps": _WARPS}
        return {"TANH": approximate == "tanh", **sizes}


def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


@triton.jit
def exists(columns, row, rows, DIM: tl.constexpr):
    """Which columns of a row do; in a form that shows the compiler which of them do or do not together."""
    return (columns < DIM) & (columns * 0 + row < rows)


@triton.jit
def fours(BLOCK: tl.constexpr):
    """Columns that threads load four at a time, whichever their type: else their places would have to be exchanged."""
    return tl.max_contiguous(tl.arange(0, BLOCK), 4)


@triton.jit
def draw(seeds, place, group, columns, DIM: tl.constexpr):
    """Random bits for each column of a group of rows."""
    return tl.randint4x(tl.load(seeds + place), group * DIM + columns, _ROUNDS)


@triton.jit
def stays(words, i: tl.constexpr, least):
    """Whether each number of row i of the group does."""
    return ((words[i // 2].to(tl.uint32, bitcast=True) >> (16 * (i % 2))) & 0xFFFF).to(tl.int32) >= least


@triton.jit(do_not_specialize=["place", "least", "rows"])
def _add_norm(
    x, delta, gain, shift, eps, total, y, means, scales, place, seeds, least, keep, rows,
    DIM: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    c = fours(BLOCK)
    inside = c < DIM
    group = tl.program_id(0)
    words = draw(seeds, place, group, c, DIM) if DROP else None
    for i in tl.static_range(_GROUP):
        row = group * _GROUP + i
        at, mine = row.to(tl.int64) * DIM + c, exists(c, row, rows, DIM)
        s = tl.load(x + at, mask=mine, other=0.0)
        if delta is not None:
            d = tl.load(delta + at, mask=mine, other=0.0).to(tl.float32)
            if DROP:
                d = tl.where(stays(words, i, least), d * keep, 0.0)
            s += d
            tl.store(total + at, s, mask=mine)
        if y is not None:
            mean = tl.sum(s, 0) / DIM
            centred = tl.where(inside, s - mean, 0.0)
            scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 0) / DIM + eps)
            tl.store(means + row, mean, mask=row < rows)
            tl.store(scales + row, scale, mask=row < rows)
            normed = centred * scale * tl.load(gain + c, mask=inside, other=0.0)
            normed += tl.load(shift + c, mask=inside, other=0.0)
            tl.store(y + at, normed.to(y.dtype.element_ty), mask=mine)


@triton.jit(do_not_specialize=["place", "least", "rows", "turns"])
def _add_norm_back(
    dy, later, s, gain, means, scales, dx, ddelta, parts, stride, place, seeds, least, keep, rows, turns,
    DIM: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    c = fours(BLOCK)
    inside = c < DIM
    of_gain, of_shift, of_bias = (tl.zeros([BLOCK], tl.float32),) * 3
    for turn in range(turns):
        group = tl.program_id(0) + turn * tl.num_programs(0)
        words = draw(seeds, place, group, c, DIM) if DROP else None
        for i in tl.static_range(_GROUP):
            row = group * _GROUP + i
            at, mine = row.to(tl.int64) * DIM + c, exists(c, row, rows, DIM)
            d = tl.load(later + at, mask=mine, other=0.0)
            if dy is not None:
                slope = tl.load(dy + at, mask=mine, other=0.0).to(tl.float32)
                mean = tl.load(means + row, mask=row < rows, other=0.0)
                scale = tl.load(scales + row, mask=row < rows, other=0.0)
                normed = tl.where(mine, (tl.load(s + at, mask=mine, other=0.0) - mean) * scale, 0.0)
                of_gain += slope * normed
                of_shift += slope
                slope *= tl.load(gain + c, mask=inside, other=0.0)
                d += scale * (slope - tl.sum(slope, 0) / DIM - normed * (tl.sum(slope * normed, 0) / DIM))
                tl.store(dx + at, d, mask=mine)
            if ddelta is not None:
                if DROP:
                    d = tl.where(stays(words, i, least), d * keep, 0.0)
                of_bias += tl.where(mine, d, 0.0)
                tl.store(ddelta + at, d.to(ddelta.dtype.element_ty), mask=mine)
    parts += tl.program_id(0) * stride + c
    if dy is not None:
        tl.store(parts, of_gain, mask=inside)
        tl.store(parts + DIM, of_shift, mask=inside)
        parts += 2 * DIM
    if ddelta is not None:
        tl.store(parts, of_bias, mask=inside)


@triton.jit
def below(x, TANH: tl.constexpr):
    """Φ(x), by which a GELU multiplies x, and its derivative.

    The normal integral is that of Abramowitz & Stegun 7.1.26, right to 10⁻⁷; `erf` would be linked from a library.
    """
    if TANH:
        share = 1.0 / (1.0 + tl.exp(-1.5957691216057308 * x * (1.0 + 0.044715 * x * x)))
        slope = share * (1.0 - share) * 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    else:
        bell = tl.exp(-0.5 * x * x)
        t = 1.0 / (1.0 + 0.23164189 * tl.abs(x))
        tail = 0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)))
        tail *= bell * t
        share = tl.where(x > 0, 1.0 - tail, tail)
        slope = bell * 0.3989422804014327
    return share, slope


@triton.jit(do_not_specialize=["place", "least", "rows"])
def _bend(
    h, a, seeds, place, least, keep, rows,
    TANH: tl.constexpr, DIM: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    group = tl.program_id(0)
    words = draw(seeds, place, group, c, DIM) if DROP else None
    for i in tl.static_range(_GROUP):
        row = group * _GROUP + i
        at, mine = row.to(tl.int64) * DIM + c, exists(c, row, rows, DIM)
        x = tl.load(h + at, mask=mine, other=0.0).to(tl.float32)
        value = x * below(x, TANH)[0]
        if DROP:
            value = tl.where(stays(words, i, least), value * keep, 0.0)
        tl.store(a + at, value.to(a.dtype.element_ty), mask=mine)


@triton.jit(do_not_specialize=["place", "least", "rows", "turns"])
def _bend_back(
    h, da, dh, parts, stride, seeds, place, least, keep, rows, turns,
    TANH: tl.constexpr, DIM: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    of_bias = tl.zeros([BLOCK], tl.float32)
    for turn in range(turns):
        group = tl.program_id(0) + turn * tl.num_programs(0)
        words = draw(seeds, place, group, c, DIM) if DROP else None
        for i in tl.static_range(_GROUP):
            row = group * _GROUP + i
            at, mine = row.to(tl.int64) * DIM + c, exists(c, row, rows, DIM)
            x = tl.load(h + at, mask=mine, other=0.0).to(tl.float32)
            d = tl.load(da + at, mask=mine, other=0.0).to(tl.float32)
            if DROP:
                d = tl.where(stays(words, i, least), d * keep, 0.0)
            share, slope = below(x, TANH)
            d *= share + x * slope
            of_bias += d
            tl.store(dh + at, d.to(dh.dtype.element_ty), mask=mine)
    tl.store(parts + tl.program_id(0) * stride + c, of_bias, mask=c < DIM)


@triton.jit(do_not_specialize=["rows", "turns"])
def _beside(q, k, v, together, parts, stride, rows, turns, DIM: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    third = tl.program_id(1)
    source = q
    if third == 1:
        source = k
    elif third == 2:
        source = v
    sums = tl.zeros([BLOCK], tl.float32)
    for turn in range(turns):
        group = tl.program_id(0) + turn * tl.num_programs(0)
        for i in tl.static_range(_GROUP):
            row = (group * _GROUP + i).to(tl.int64)
            mine = exists(c, row, rows, DIM)
            d = tl.load(source + row * DIM + c, mask=mine, other=0.0)
            tl.store(together + (3 * row + third) * DIM + c, d, mask=mine)
            sums += d.to(tl.float32)
    tl.store(parts + tl.program_id(0) * stride + third * DIM + c, sums, mask=c < DIM)
