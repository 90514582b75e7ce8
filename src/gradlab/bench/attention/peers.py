"""Causal attention by others: linear (elu + 1) by PyTorch in chunks and by flash-linear-attention; softmax by Flex."""

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]

_CHUNK = 128


def peer(name: str, *, compiled: bool) -> Attend:
    """A function of queries, keys and values (batch, heads, length, dim)."""
    if name == "chunks":
        return _compiled(in_chunks) if compiled else in_chunks
    if name == "flex":
        return by_flex(compiled=compiled)
    operations: Any = importlib.import_module("fla.ops.linear_attn")
    attend = {"fla": "chunk_linear_attn", "fla-fused": "fused_chunk_linear_attn"}[name]

    def by_fla(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in (F.elu(q) + 1, F.elu(k) + 1, v))
        outputs: Tensor = getattr(operations, attend)(q, k, v, scale=1.0, normalize=True)[0]
        return outputs.transpose(1, 2)

    return by_fla


def _compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    torch._dynamo.reset()  # every shape has a graph of its own, of which there are more than may be kept
    return torch.compile(function, dynamic=False)


def by_flex(*, compiled: bool) -> Attend:
    """Softmax over the blocks that its mask leaves; the mask of a length is made once, as a user would."""
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

    attend: Any = _compiled(flex_attention) if compiled else flex_attention

    @cache
    def mask(length: int, device: torch.device) -> BlockMask:
        return create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)

    def flex(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        outputs: Tensor = attend(q, k, v, block_mask=mask(q.shape[-2], q.device))
        return outputs

    return flex


def in_chunks(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The sums of all chunks by one product and one cumulative sum, and the weights within a chunk written out."""
    size = min(_CHUNK, q.shape[-2])
    chunks = *q.shape[:-2], -1, size
    q, k, v = (x.reshape(*chunks, x.shape[-1]) for x in (F.elu(q) + 1, F.elu(k) + 1, v))
    sums, weight = (k.mT @ v).float(), k.float().sum(-2)
    before, weight = sums.cumsum(-3) - sums, weight.cumsum(-2) - weight  # of the chunks before each
    within = (q @ k.mT).tril()
    divisor = q @ weight.to(q.dtype)[..., None] + within.sum(-1, keepdim=True)
    return ((q @ before.to(q.dtype) + within @ v) / divisor).flatten(-3, -2)
