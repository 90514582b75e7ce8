"""Multi-head attention in decoding: new positions look at those of a cache."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.attention.cache import LayerCache
from gradlab.nn.attention.dot_product import ScaledDotAttention
from gradlab.nn.plain import bare
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.steps import At, Step, added, affine, by_kernels, normed_affine

if TYPE_CHECKING:
    from gradlab.nn.attention.multihead import MultiheadAttention

Pool = Callable[[Tensor, Tensor, Tensor, At | None], Tensor]


def decoding_step(attention: "MultiheadAttention", norm: nn.Module, cache: LayerCache | StateCache) -> Step:
    """Causal attention of the next positions, normalised before it, to all there are; for what is plain."""
    normalise = bare(norm)

    def called(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
        x = added(x, delta)
        return x, attention(normalise(x), is_causal=True, cache=cache)

    if not attention.is_packed or not attention.of_modules:
        return called
    project, out = (
        normed_affine(norm, attention.in_proj_weight, attention.in_proj_bias),
        affine(attention.out_proj.weight, attention.out_proj.bias),
    )
    turn = None if attention.position is None else bare(attention.position)  # type: ignore[arg-type]
    heads, key_heads, head_dim = attention.num_heads, attention.num_key_value_heads, attention.head_dim
    sizes, pool = (heads, key_heads, key_heads), _pool(attention, cache)

    def attend(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
        x, projected = project(x, delta, at)
        qkv = projected.view(*x.shape[:2], -1, head_dim).transpose(1, 2)  # (batch, all heads, new, features of a head)
        if turn is None:
            q, k, v = qkv.split_with_sizes(sizes, 1)
        else:
            start = cache.length if at is None else at.place
            q, k = turn(qkv.narrow(1, 0, heads + key_heads), start).split_with_sizes(sizes[:2], 1)
            v = qkv.narrow(1, heads + key_heads, key_heads)
        return x, out(pool(q, k, v, at).transpose(1, 2).flatten(-2), at)

    return attend


def _pool(attention: "MultiheadAttention", cache: LayerCache | StateCache) -> Pool:
    """The attention of new heads to those of a cache."""
    if isinstance(cache, StateCache):
        return lambda q, k, v, at: attention.summed(q, k, v, cache, at)
    inner = attention.attention
    if type(inner) is not ScaledDotAttention or attention.score_bias is not None:
        return lambda q, k, v, at: _masked(attention, q, k, v, cache, at)
    scale, by_kernel, key_heads = inner.scale, by_kernels(attention.in_proj_weight), attention.num_key_value_heads
    served = attention.num_heads // key_heads

    def pool(q: Tensor, k: Tensor, v: Tensor, at: At | None) -> Tensor:
        if at is not None:
            from gradlab.kernels.decode_attention import decode_attention, plain_decode_attention

            attend = decode_attention if by_kernel else plain_decode_attention
            return attend(q, k, v, *cache.rooms, at.place, at.owners, scale)
        new = q.shape[2]
        keys, values = cache.append(k, v)
        if new == 1:  # one position looks at all there are, in each of the heads that a key serves
            looking = q if served == 1 else q.view(len(q), key_heads, served, -1)
            return F.scaled_dot_product_attention(looking, keys, values, scale=scale).reshape(q.shape)
        return inner(q, attention.spread(keys), attention.spread(values), is_causal=True)  # type: ignore[no-any-return]

    return pool


def _masked(
    attention: "MultiheadAttention", q: Tensor, k: Tensor, v: Tensor, cache: LayerCache, at: At | None
) -> Tensor:
    if at is None:
        k, v = cache.append(k, v)
        mask, options = attention.options(q, k, None, is_causal=True)
    else:
        k, v = cache.put(k, v, at)
        positions = torch.arange(k.shape[-2], device=k.device)
        mask, options = positions <= at.place[:, None], {}
        if attention.score_bias is not None:
            options["bias"] = attention.score_bias(at.place, positions)  # type: ignore[arg-type]
    pooled: Tensor = attention.attention(q, attention.spread(k), attention.spread(v), mask, **options)
    return pooled
