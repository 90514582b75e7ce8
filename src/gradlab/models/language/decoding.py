"""Decoding: a transformer's forward pass for a few new tokens, with little more than its tensor operations.

One token is so little work that calling modules, and checking shapes that cannot have changed, would take longer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention
from gradlab.nn.attention.cache import LayerCache, StaticCache
from gradlab.nn.blocks import blocks
from gradlab.nn.normalisation import LayerNorm
from gradlab.nn.transformer import MLP, DecoderLayer, GatedMLP

Map: TypeAlias = Callable[[Tensor], Tensor]


class Decoding(StaticCache):
    """A cache that reads by itself what the model would read with it, faster.

    It is for a model in evaluation mode, whose weights it shares; no gradient passes. Parts that it does not know, or
    that have hooks, are called as they are.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        position: nn.Module | None,
        layers: Sequence[DecoderLayer],
        norm: nn.Module,
        head: Tensor,
        max_length: int,
    ):
        super().__init__(len(layers), max_length)
        self._embedding, self._head = embedding.weight, head
        self._position = None if position is None else bare(position)
        self._layers = [_layer(layer, cache) for layer, cache in zip(layers, self.layers, strict=True)]
        self._norm = bare(norm)

    @torch.inference_mode()
    def read(self, tokens: Int64[Tensor, "batch new"], last: int) -> Float[Tensor, "batch last vocabulary"]:
        """The logits behind the last so many of the new tokens."""
        x = F.embedding(tokens, self._embedding)
        if self._position is not None:
            x = self._position(x, self.length)
        for layer in self._layers:
            x = layer(x)
        if last < x.shape[1]:
            x = x[:, -last:]
        return F.linear(self._norm(x), self._head)


def bare(module: nn.Module) -> Callable[..., Tensor]:
    """The function of a module, in evaluation mode, without what calling it costs."""
    if _hooked(module):
        return module
    kind = type(module)
    if isinstance(module, nn.Linear) and kind is nn.Linear:
        return _linear(module.weight, module.bias)
    if isinstance(module, LayerNorm):
        shape, weight, bias, eps = module.normalized_shape, module.weight, module.bias, module.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    if isinstance(module, MLP):
        first, bend, second = bare(module.linear1), bare(module.activation), bare(module.linear2)
        return lambda x: second(bend(first(x)))
    if isinstance(module, GatedMLP):
        gate, bend = bare(module.gate), bare(module.activation)
        first, second = bare(module.linear1), bare(module.linear2)
        return lambda x: second(bend(gate(x)).mul_(first(x)))
    if kind in blocks.things().values():  # its forward pass, before its shapes are checked
        return partial(getattr(kind.forward, "__wrapped__", kind.forward), module)
    return module


def _hooked(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


def _linear(weight: Tensor, bias: Tensor | None) -> Map:
    return lambda x: F.linear(x, weight, bias)


def _layer(layer: DecoderLayer, cache: LayerCache) -> Map:
    attend, mlp = _attention(layer.attention, cache), bare(layer.mlp)
    norm1, norm2 = bare(layer.norm1), bare(layer.norm2)

    def before(x: Tensor) -> Tensor:
        x = x + attend(norm1(x))
        return x.add_(mlp(norm2(x)))

    def after(x: Tensor) -> Tensor:
        x = norm1(attend(x).add_(x))
        return norm2(mlp(x).add_(x))

    return before if layer.norm_first else after


def _attention(attention: nn.Module, cache: LayerCache) -> Map:
    """Causal attention of the new positions to all there are; by softmax it is done here."""
    as_it_is = partial(attention, is_causal=True, cache=cache)
    if not isinstance(attention, MultiheadAttention) or attention.score_bias is not None or _hooked(attention):
        return as_it_is
    inner = attention.attention
    if type(inner) is not ScaledDotAttention:
        return as_it_is
    project, out = _linear(attention.in_proj_weight, attention.in_proj_bias), bare(attention.out_proj)
    turn = bare(attention.position) if isinstance(attention.position, nn.Module) else attention.position
    sizes = 3, attention.num_heads, attention.head_dim

    def attend(x: Tensor) -> Tensor:
        heads = project(x).view(*x.shape[:2], *sizes).transpose(1, 3)  # (batch, heads, 3, new, features of a head)
        if turn is None:
            q, k, v = heads.unbind(2)
        else:
            (q, k), v = turn(heads.narrow(2, 0, 2), cache.length).unbind(2), heads.select(2, 2)
        keys, values = cache.append(k, v)
        if x.shape[1] == 1:  # one position looks at all there are
            pooled = F.scaled_dot_product_attention(q, keys, values, scale=inner.scale)
        else:
            pooled = inner(q, keys, values, is_causal=True)
        return out(pooled.transpose(1, 2).flatten(-2))

    return attend
