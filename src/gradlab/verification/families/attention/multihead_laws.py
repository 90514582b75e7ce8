"""Laws of multi-head attention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention, causal_mask
from gradlab.nn.attention.cache import KeyValueCache
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, gradients, same
from gradlab.verification.families.attention.looking import arguments, first
from gradlab.verification.families.attention.multihead import BLOCK, attended, places, scene
from gradlab.verification.families.attention.projections import Projections
from gradlab.verification.subject import Incomparable

# Faults are put in as the attention of the heads


def _with(fault: Callable[..., Tensor]) -> Callable[..., nn.Module]:
    return lambda **settings: MultiheadAttention(**settings, attention=fault)


def _heads_below_one_another(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The heads' results read off as they lie, heads before positions, which mixes the positions."""
    result: Tensor = ScaledDotAttention()(q, k, v, mask)
    batch, heads, n, size = result.shape
    return result.reshape(batch, n, heads, size).transpose(1, 2)


def _masked_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = ScaledDotAttention().weights(q, k)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


def _everywhere_instead_of_nowhere(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    mask = None if mask is None else mask | ~mask.any(-1, keepdim=True)
    result: Tensor = ScaledDotAttention()(q, k, v, mask)
    return result


def _from_the_first_key(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    return nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal)


def _later_values_count_more(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    result: Tensor = ScaledDotAttention()(q, k, v * torch.arange(1.0, v.shape[-2] + 1)[:, None], mask)
    return result


@law(BLOCK, wrong=_with(_heads_below_one_another))
def the_order_of_tokens_is_carried_through(case: Case) -> float:
    """self-attention: f(X[τ]) = f(X)[τ]"""
    seen = scene(case, 2, alone=True)
    order = case.permutation("τ", seen.queries.shape[1])
    moved = seen.queries[:, order]
    return difference(attended(seen.block, moved, moved), seen()[:, order])


@law(BLOCK, wrong=_with(_later_values_count_more))
def the_order_of_keys_is_nothing(case: Case) -> float:
    """att(Q, K[τ], V[τ]) = att(Q, K, V)"""
    seen = scene(case, 2)
    order = case.permutation("τ", seen.memory.shape[1])
    return difference(attended(seen.block, seen.queries, seen.memory[:, order]), seen())


@law(BLOCK, wrong=_with(_heads_below_one_another))
def each_head_adds_its_own_part(case: Case) -> float:
    """Y = Σₐ softmax(Qₐ Kₐᵀ / √(d/h)) Vₐ Wᴼₐ + b, each head with its own features"""
    seen = scene(case, 2)
    weight, bias, out_weight, total = Projections(seen.block).packed().values()
    d = seen.queries.shape[-1]
    for own in torch.arange(d).chunk(seen.heads):
        q, k, v = (
            x @ weight[own + part * d].T + bias[own + part * d]
            for part, x in enumerate((seen.queries, seen.memory, seen.memory))
        )
        total = total + torch.softmax(q @ k.mT / len(own) ** 0.5, -1) @ v @ out_weight[:, own].T
    return difference(seen(), total)


class KeysForValues(MultiheadAttention):
    """One product for all three, whose parts are taken in the wrong order."""

    def _heads(self, *inputs: Tensor) -> list[Tensor]:
        q, k, v = super()._heads(*inputs)
        return [q, v, k] if inputs[0] is inputs[1] else [q, k, v]


@law(BLOCK, wrong=KeysForValues)
def three_projections_at_once_are_three(case: Case) -> float:
    """[q; k; v] = [W_q; W_k; W_v] x: self-attention is attention to a copy of itself"""
    seen = scene(case, 2, alone=True)
    return difference(attended(seen.block, seen.queries, seen.queries.clone()), seen())


@law(BLOCK, wrong=_with(_masked_after_the_softmax))
def what_is_hidden_might_as_well_not_be_there(case: Case) -> float:
    """f(X, hiding some)[others] = f(X[others]), and so are all gradients"""
    seen = scene(case, 2, alone=True)
    x = seen.queries
    visible = case.mask("visible", x.shape[1])
    without = x[:, visible]
    got = seen(visible.expand(x.shape[1], -1))[:, visible]
    return same(got, attended(seen.block, without, without), [x])


@law(BLOCK, wrong=_with(_everywhere_instead_of_nowhere))
def a_query_that_may_look_nowhere_gets_the_bias(case: Case) -> float:
    """mask = false everywhere ⇒ y = b, and no gradient by the tokens"""
    seen = scene(case, 2)
    mask = case.mask("mask", seen.queries.shape[1], seen.memory.shape[1])
    mask[0] = False
    result = seen(mask)[:, 0]
    wanted = Projections(seen.block).packed()["out_proj.bias"].expand_as(result)
    return difference((result, *gradients(result, seen.leaves)), (wanted, *map(torch.zeros_like, seen.leaves)))


@law(BLOCK, wrong=_with(_masked_after_the_softmax))
def no_result_knows_of_later_tokens(case: Case) -> float:
    """causal: ∂yᵢ/∂xⱼ = 0 for j > i"""
    seen = scene(case, 2, alone=True)
    x = seen.queries
    i = case.integer("i", 0, x.shape[1] - 2)
    (gradient,) = gradients(_causal(seen.block, x)[:, i], [x])
    return float(gradient[:, i + 1 :].abs().max())


def _causal(block: Any, x: Tensor, **more: Any) -> Tensor:
    if "is_causal" in arguments(block):
        return first(block(*[x] * places(block), is_causal=True, **more))
    return attended(block, x, x, causal_mask(x.shape[1]))


@law(BLOCK, wrong=_with(_from_the_first_key))
def some_tokens_at_a_time_with_a_cache_is_all_at_once(case: Case) -> float:
    """causal: f(X[:t]), then f(X[t:]) with the keys and values of the first, is f(X)"""
    seen = scene(case, 3, alone=True)
    if "cache" not in arguments(seen.block):
        raise Incomparable("it takes no cache")
    x, cache = seen.queries, KeyValueCache()
    parts = [_causal(seen.block, part, cache=cache) for part in torch.split(x, case.integer("at a time", 1, 2), 1)]
    return difference(torch.cat(parts, 1), _causal(seen.block, x))
