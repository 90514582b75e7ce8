"""Attention of one new position of each text, or of a few, to all before it, whose number lies on the device.

The host need not know how long the texts are: the same launch serves every token, and can be part of a CUDA graph.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from gradlab.kernels.triton_language import jit, launch, tl, triton

_BYTES, _WARPS = 32768, 8
"""Of keys that a program has in registers at once, as many of values, and its warps."""


def decode_attention(
    q: Float[Tensor, "rows heads new dim"],
    k: Float[Tensor, "rows key_heads new dim"],
    v: Float[Tensor, "rows key_heads new dim"],
    keys: Float[Tensor, "rows key_heads room dim"],
    values: Float[Tensor, "rows key_heads room dim"],
    place: Int[Tensor, " new"],
    owners: Int[Tensor, "rows room"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "rows heads new dim"]:
    """Write k and v at `place` of each row's room, positions next to each other, and attend to all up to each of them.

    `owners` says in which row's room the key of each earlier position lies: hypotheses of a beam search share them, and
    to reorder the hypotheses is to reorder this table alone. A head of keys serves heads of queries side by side.
    """
    rows, heads, new, dim = q.shape
    out = torch.empty(rows, new, heads, dim, dtype=q.dtype, device=q.device)  # as the next product takes it
    strides = (*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *keys.stride()[:2], *values.stride()[:2])
    wide = triton.next_power_of_2(dim)
    launch(
        _attend, (rows * heads, new), q, k, v, keys, values, place, owners, out, *strides, keys.shape[2], heads, new,
        heads // keys.shape[1],
        dim**-0.5 if scale is None else scale,
        DIM=dim, BLOCK_DIM=wide, BLOCK=max(16, min(256, _BYTES // (wide * q.element_size()))), num_warps=_WARPS,
    )  # fmt: skip
    return out.transpose(1, 2)


def plain_decode_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keys: Tensor,
    values: Tensor,
    place: Tensor,
    owners: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """The same in PyTorch's operations, over the whole room."""
    room = torch.arange(keys.shape[2], device=q.device)
    keys.index_copy_(2, place, k)
    values.index_copy_(2, place, v)
    if owners is not None:
        own = torch.arange(len(q), device=q.device)[:, None]
        owners = torch.where(room >= place[0], own, owners)
        keys, values = (part.transpose(1, 2)[owners, room].transpose(1, 2) for part in (keys, values))
    hidden = torch.where(room <= place[:, None], 0.0, -torch.inf).to(q.dtype)
    grouped = keys.shape[1] != q.shape[1]
    return F.scaled_dot_product_attention(q, keys, values, hidden[None, None], scale=scale, enable_gqa=grouped)


@jit(do_not_specialize=["new"])
def _attend(
    q, k, v, keys, values, place, owners, out,
    q_row, q_head, q_new, k_row, k_head, k_new, v_row, v_head, v_new,
    keys_row, keys_head, values_row, values_head, room, heads, new, served, scale,
    DIM: tl.constexpr, BLOCK_DIM: tl.constexpr, BLOCK: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """One head of one new position of a row: softmax(q Kᵀ) V with a running maximum; new keys are not read from the
    room, into which other programs are writing them."""
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    row, n = row.to(tl.int64), tl.program_id(1)
    d = tl.arange(0, BLOCK_DIM)
    inside = d < DIM
    at = tl.load(place)
    key_head = head // served  # programs of one write the same
    keys += key_head * keys_head
    values += key_head * values_head
    # The first keys and values, mostly all there are, come from earlier steps: they are on their way while the kernel
    # before this one still computes the query.
    ks, vs, seen = _block(keys, values, owners, row, keys_row, values_row, room, 0, at, d, inside, DIM, BLOCK)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    k += row * k_row + key_head * k_head
    v += row * v_row + key_head * v_head
    query = tl.load(q + row * q_row + head * q_head + n * q_new + d, mask=inside, other=0.0).to(tl.float32) * scale
    key = tl.load(k + n * k_new + d, mask=inside, other=0.0)
    value = tl.load(v + n * v_new + d, mask=inside, other=0.0)
    tl.store(keys + row * keys_row + (at + n) * DIM + d, key, mask=inside)
    tl.store(values + row * values_row + (at + n) * DIM + d, value, mask=inside)
    top = tl.sum(query * key.to(tl.float32), 0)
    whole = top * 0.0 + 1.0
    total = value.to(tl.float32)
    top, whole, total = _added(top, whole, total, query, ks, vs, seen)
    for start in range(BLOCK, at, BLOCK):
        ks, vs, seen = _block(keys, values, owners, row, keys_row, values_row, room, start, at, d, inside, DIM, BLOCK)
        top, whole, total = _added(top, whole, total, query, ks, vs, seen)
    for before in range(n):
        its_key = tl.load(k + before * k_new + d, mask=inside, other=0.0).to(tl.float32)
        its_value = tl.load(v + before * v_new + d, mask=inside, other=0.0).to(tl.float32)
        score = tl.sum(query * its_key, 0)
        higher = tl.maximum(top, score)
        kept, weight = tl.exp(top - higher), tl.exp(score - higher)
        top, whole, total = higher, whole * kept + weight, total * kept + weight * its_value
    out += ((row * new + n) * heads + head) * DIM
    tl.store(out + d, (total / whole).to(out.dtype.element_ty), mask=inside)


@jit()
def _block(
    keys, values, owners, row, keys_row, values_row, room, start, at, d, inside,
    DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Keys and values of some positions, and which of those there are."""
    position = start + tl.arange(0, BLOCK)
    seen = position < at
    both = seen[:, None] & inside[None, :]
    if owners is None:
        owner = row + position.to(tl.int64) * 0
    else:
        owner = tl.load(owners + row * room + position, mask=seen, other=0).to(tl.int64)
    offset = position.to(tl.int64)[:, None] * DIM + d[None, :]
    ks = tl.load(keys + owner[:, None] * keys_row + offset, mask=both, other=0.0)
    vs = tl.load(values + owner[:, None] * values_row + offset, mask=both, other=0.0)
    return ks, vs, seen


@jit()
def _added(top, whole, total, query, ks, vs, seen):
    """The running maximum, Σ exp and Σ exp · v with more positions."""
    scores = tl.where(seen, tl.sum(ks.to(tl.float32) * query[None, :], 1), float("-inf"))
    higher = tl.maximum(top, tl.max(scores, 0))
    kept, weights = tl.exp(top - higher), tl.exp(scores - higher)
    total = total * kept + tl.sum(weights[:, None] * vs.to(tl.float32), 0)
    return higher, whole * kept + tl.sum(weights, 0), total
