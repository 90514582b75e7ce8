"""Decoding: a transformer's forward pass for a few new tokens, with little more than its tensor operations.

One token is so little work that calling modules, and checking shapes that cannot have changed, would take longer.
"""

from collections.abc import Callable
from functools import partial
from inspect import unwrap
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention
from gradlab.nn.attention.cache import LayerCache, StaticCache
from gradlab.nn.blocks import blocks
from gradlab.nn.normalisation import LayerNorm
from gradlab.nn.transformer import MLP, DecoderLayer, GatedMLP

if TYPE_CHECKING:
    from gradlab.models.language.transformer import TransformerLanguageModel

Map: TypeAlias = Callable[[Tensor], Tensor]

_OF_TORCH: tuple[type[nn.Module], ...] = (nn.Linear, nn.Embedding, nn.Dropout, nn.Identity)
_FORWARDS: dict[type, Any] = {c: c.forward for c in (*_OF_TORCH, *blocks.things().values()) if isinstance(c, type)}  # type: ignore[attr-defined]


class DecodingCache(StaticCache):
    """A cache that reads by itself what the model would read with it, faster.

    It is for a model in evaluation mode, as it is when the cache is made; weights are shared, and no gradient passes.
    What is not exactly a class known here, or has a hook in it, is called as it is.
    """

    def __init__(self, model: "TransformerLanguageModel", max_length: int):
        from gradlab.models.language.transformer import TransformerLanguageModel

        super().__init__(len(model.layers), max_length)
        self._model = model
        self._by_itself = _is_itself(model, TransformerLanguageModel.forward) and is_plain(model.dropout)
        self._embed, self._norm = bare(model.embedding), bare(model.norm)
        self._position = None if model.position is None else bare(model.position)
        layers = cast(list[DecoderLayer], list(model.layers))
        self._layers = [_layer(layer, cache) for layer, cache in zip(layers, self.layers, strict=True)]

    @torch.inference_mode()
    def read(self, tokens: Int64[Tensor, "batch new"], last: int) -> Float[Tensor, "batch last vocabulary"]:
        """The logits behind the last so many of the new tokens."""
        if not self._by_itself:
            logits: Tensor = self._model(tokens, cache=self)
            return logits[:, -last:]
        x = self._embed(tokens)
        if self._position is not None:
            x = self._position(x, self.length)
        for layer in self._layers:
            x = layer(x)
        if last < x.shape[1]:
            x = x[:, -last:]
        return F.linear(self._norm(x), self._model.output_weight)


def is_plain(module: nn.Module) -> bool:
    """Whether a module computes what its class is known to: nothing in it is of another class, hooked or replaced."""
    return all(_is_itself(part, _FORWARDS.get(type(part))) for part in module.modules())


def _is_itself(module: nn.Module, forward: Any) -> bool:
    hooks = (module._forward_hooks, module._forward_pre_hooks)
    everywhere = (torch_modules._global_forward_hooks, torch_modules._global_forward_pre_hooks)
    same = forward is not None and getattr(module.forward, "__func__", None) is forward
    return same and not any((*hooks, *everywhere))


def bare(module: nn.Module) -> Callable[..., Tensor]:
    """The function of a plain module, in evaluation mode, without what calling it costs; of others, the module."""
    if not is_plain(module):
        return module
    if type(module) is nn.Linear:
        return _linear(module.weight, module.bias)
    if type(module) is LayerNorm:
        shape, weight, bias, eps = module.normalized_shape, module.weight, module.bias, module.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    if type(module) is MLP:
        first, bend, second = bare(module.linear1), bare(module.activation), bare(module.linear2)
        return lambda x: second(bend(first(x)))
    if type(module) is GatedMLP:
        gate, bend = bare(module.gate), bare(module.activation)
        first, second = bare(module.linear1), bare(module.linear2)
        return lambda x: second(bend(gate(x)).mul_(first(x)))
    return partial(unwrap(type(module).forward), module)  # before its shapes are checked


def _linear(weight: Tensor, bias: Tensor | None) -> Map:
    return lambda x: F.linear(x, weight, bias)


def _layer(layer: DecoderLayer, cache: LayerCache) -> Map:
    if type(layer) is not DecoderLayer or layer.cross or not is_plain(layer):
        return partial(layer, cache=cache)
    attend, mlp = _attention(layer.attention, cache), bare(layer.mlp)
    norm1, norm2 = bare(layer.norm1), bare(layer.norm2)

    # In place, since nobody else can have what plain parts return.
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
    if type(attention) is not MultiheadAttention or attention.score_bias is not None:
        return as_it_is
    inner, position = attention.attention, attention.position
    if type(inner) is not ScaledDotAttention or not isinstance(position, nn.Module | None):
        return as_it_is
    project, out = _linear(attention.in_proj_weight, attention.in_proj_bias), bare(attention.out_proj)
    turn = None if position is None else bare(position)
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
