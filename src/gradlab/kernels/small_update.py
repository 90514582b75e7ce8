"""Adam's update of all parameters by three kernels: each program goes over a block of one, whichever it is."""

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK, TILE = 1024, 4096  # numbers of a program, and sums of blocks that are added up at once
# What is known of a parameter, in a row for each: addresses of its values and of Adam's two averages, its size, where
# its gradient begins among all of them, and its first block.
VALUES, MEANS, SQUARES, SIZE, OFFSET, FIRST, FACTS = (tl.constexpr(i) for i in range(7))


class AdamUpdate:
    """The update of these parameters, whose memory stays where it is."""

    def __init__(
        self,
        values: Sequence[Tensor],
        means: Sequence[Tensor],
        squares: Sequence[Tensor],
        decays: Sequence[float],
        multiples: Sequence[float],
    ):
        device, facts, owners, offset = values[0].device, list[list[int]](), list[int](), 0
        for i, tensors in enumerate(zip(values, means, squares, strict=True)):
            size = tensors[0].numel()
            facts.append([*(tensor.data_ptr() for tensor in tensors), size, offset, len(owners)])
            owners += [i] * -(-size // BLOCK)
            offset += size
        self.rows = 1 << (len(values) - 1).bit_length()
        self.most = max(owners.count(i) for i in range(len(values)))
        self.facts = torch.tensor(facts, device=device)
        self.owners = torch.tensor(owners, dtype=torch.int32, device=device)
        self.sums = torch.empty(len(owners), device=device)
        self.decays, self.multiples = (torch.tensor(each, device=device) for each in (decays, multiples))
        self.norms, self.norm = torch.empty(len(values), device=device), torch.empty((), device=device)
        self.factors = torch.empty(3, device=device)

    def __call__(
        self,
        gradients: Sequence[Tensor],
        lr: Tensor,
        step: Tensor,
        bad: Tensor,
        counted: Tensor | None = None,
        *,
        clip: float | None,
        apart: bool,
        beta1: float,
        beta2: float,
        eps: float,
    ) -> None:
        """Note the norms and make the step; none, and `bad` is 1, where they are no numbers. `counted` counts steps."""
        together, grid = torch.cat([g.reshape(-1) for g in gradients]), (len(self.owners),)
        add_squares[grid](together, self.owners, self.facts, self.sums, BLOCK=BLOCK)
        decide[(1,)](
            self.sums,
            self.facts,
            self.norms,
            self.norm,
            bad,
            counted,
            step,
            self.factors,
            CLIP=clip,
            LOG_BETA1=_log(beta1),
            LOG_BETA2=_log(beta2),
            COUNTS=counted is not None,
            PARAMETERS=len(self.facts),
            ROWS=self.rows,
            WIDTH=TILE // self.rows,
            MOST=self.most,
            BLOCK=BLOCK,
        )
        adam[grid](
            together,
            self.owners,
            self.facts,
            self.decays,
            self.multiples,
            self.factors,
            bad,
            lr,
            BETA1=beta1,
            BETA2=beta2,
            EPS=eps,
            APART=apart,
            BLOCK=BLOCK,
        )


def _log(beta: float) -> float:
    return math.log(beta) if beta else -1e9


@triton.jit
def add_squares(gradients, owners, facts, sums, BLOCK: tl.constexpr):
    """The sum of the squares of each block."""
    block = tl.program_id(0)
    mine = facts + tl.load(owners + block) * FACTS
    at = (block - tl.load(mine + FIRST)) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gradients + tl.load(mine + OFFSET) + at, mask=at < tl.load(mine + SIZE), other=0.0)
    tl.store(sums + block, tl.sum(g * g, 0))


@triton.jit
def decide(
    sums,
    facts,
    norms,
    norm,
    bad,
    counted,
    step,
    factors,
    CLIP: tl.constexpr,
    LOG_BETA1: tl.constexpr,
    LOG_BETA2: tl.constexpr,
    COUNTS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    MOST: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Norms, the flag, the number of the step, and what gradients and averages are multiplied and divided by.

    One program, which adds in a fixed order: the same numbers give the same bits.
    """
    row = tl.arange(0, ROWS)
    there = row < PARAMETERS
    first = tl.load(facts + row * FACTS + FIRST, mask=there, other=0)
    blocks = tl.cdiv(tl.load(facts + row * FACTS + SIZE, mask=there, other=0), BLOCK)
    squares = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, MOST, WIDTH):
        at = start + tl.arange(0, WIDTH)[None, :]
        squares += tl.load(sums + first[:, None] + at, mask=at < blocks[:, None], other=0.0)
    each = tl.sum(squares, 1)
    length = tl.sqrt(tl.sum(each, 0))
    tl.store(norms + row, tl.sqrt(each), mask=there)
    tl.store(norm, length)

    # Once 1, it stays 1. No comparison with NaN holds.
    flag = tl.where(length < float("inf"), tl.load(bad), 1.0)
    tl.store(bad, flag)
    if COUNTS:
        tl.store(counted, tl.load(counted) + (flag == 0.0).to(tl.int64))
    number = tl.load(step) + 1.0 - flag
    tl.store(step, number)
    # In float64: 1 - 0.999 has only four digits left in float32.
    age = number.to(tl.float64)
    tl.store(factors + 1, (1.0 - tl.exp(age * LOG_BETA1)).to(tl.float32))
    tl.store(factors + 2, tl.sqrt(1.0 - tl.exp(age * LOG_BETA2)).to(tl.float32))
    tl.store(factors, 1.0 if CLIP is None else tl.minimum(CLIP / (length + 1e-6), 1.0))


@triton.jit(do_not_specialize=["lr"], do_not_specialize_on_alignment=["lr"])
def adam(
    gradients,
    owners,
    facts,
    decays,
    multiples,
    factors,
    bad,
    lr,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    EPS: tl.constexpr,
    APART: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Adam's update of each block, or with APART that of AdamW; none where the gradients are bad."""
    block = tl.program_id(0)
    owner = tl.load(owners + block)
    mine = facts + owner * FACTS
    at = (block - tl.load(mine + FIRST)) * BLOCK + tl.arange(0, BLOCK)
    used = at < tl.where(tl.load(bad) == 0.0, tl.load(mine + SIZE), 0)
    values = tl.load(mine + VALUES).to(tl.pointer_type(tl.float32)) + at
    means = tl.load(mine + MEANS).to(tl.pointer_type(tl.float32)) + at
    squares = tl.load(mine + SQUARES).to(tl.pointer_type(tl.float32)) + at
    rate, decay = tl.load(lr) * tl.load(multiples + owner), tl.load(decays + owner)

    w = tl.load(values, mask=used)
    g = tl.load(gradients + tl.load(mine + OFFSET) + at, mask=used) * tl.load(factors)
    if APART:
        w -= rate * decay * w
    else:
        g += decay * w
    m = BETA1 * tl.load(means, mask=used) + (1.0 - BETA1) * g
    v = BETA2 * tl.load(squares, mask=used) + (1.0 - BETA2) * g * g
    w -= rate / tl.load(factors + 1) * m / (tl.sqrt(v) / tl.load(factors + 2) + EPS)
    tl.store(values, w, mask=used)
    tl.store(means, m, mask=used)
    tl.store(squares, v, mask=used)
