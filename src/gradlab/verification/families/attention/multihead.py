"""What is known of multi-head attention, ours and that of users."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gradlab import scratch
from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention, causal_mask
from gradlab.nn.attention.cache import KeyValueCache
from gradlab.nn.blocks import ShapeError, settings_of
from gradlab.scratch import attention
from gradlab.verification.calls import OTHER_NAMES, Refused
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law, peer
from gradlab.verification.comparing import array, difference, gradients
from gradlab.verification.families.attention.calling import arguments, built, first, look, mask_name, required, takes
from gradlab.verification.families.attention.projections import Projections
from gradlab.verification.subject import Incomparable

BLOCK = "attention.multihead"
LOOKS_BACK = "no position looks at later ones, by a mask of its own"


@dataclass(frozen=True)
class Tokens:
    """A block, and the tokens it is to look at."""

    block: Any
    heads: int
    queries: Tensor
    memory: Tensor
    """What is looked at: the queries themselves, if the block takes one input only."""

    values: Tensor
    """What is found there: mostly the memory itself."""

    looks_back: bool = False
    """Whether it has a causal mask of its own, and is given none."""

    def __call__(self, mask: Tensor | None = None) -> Tensor:
        return attended(self.block, self.queries, self.memory, None if self.looks_back else mask, self.values)

    @property
    def leaves(self) -> list[Tensor]:
        return [*{id(x): x for x in self.inputs}.values()]

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.queries, self.memory, self.values


def attended(
    block: Any, queries: Tensor, memory: Tensor, mask: Tensor | None = None, values: Tensor | None = None
) -> Tensor:
    """The result of a call with as many of queries, keys and values as the block takes."""
    count = places(block)
    if count == 1 and memory is not queries:
        raise Incomparable("it takes one input, so its keys are its queries")
    return look(block, *[queries, memory, memory if values is None else values][:count], mask=mask)


def places(block: Any) -> int:
    """How many inputs it can be called with."""
    named = set(arguments(block))
    return 3 if {"key", "value"} <= named or {"k", "v"} <= named else min(3, max(1, len(required(block))))


def tokens(case: Case, fewest: int = 1, *, alone: bool = False, grouped: bool = False, differ: bool = False) -> Tokens:
    """A block of some heads, with a batch of tokens; `alone`, they look at themselves only; values may `differ`.

    `grouped`, it may have fewer heads of keys and values, of a size of their own, if it is one that can.
    """
    fixed = case.subject.fixed
    if "embed_dim" in fixed:
        heads = case.choice("num_heads", [h for h in (1, 2, 3, 4) if fixed["embed_dim"] % h == 0])
    elif grouped:
        heads = case.choice("num_heads", (1, 2, 4, 6))
    else:
        heads = case.integer("num_heads", 1, 3)
    d = case.integer("embed_dim", heads, 3 * heads, multiple_of=heads)
    biased = {"bias": not case.flag("without bias")} if takes(case, "bias") and "bias" not in fixed else {}
    of_heads = _of_heads(case, heads) if grouped else {}
    block = built(case, embed_dim=d, num_heads=heads, **biased, **of_heads)
    batch, n = case.integer("batch", 1, 2), case.integer("n", fewest, 4)
    queries = case.tensor("queries", batch, n, d)
    looks_back = _looks_back(case, block, d)
    if alone or looks_back or places(block) == 1 or not case.flag("cross"):
        return Tokens(block, heads, queries, queries, queries, looks_back)
    memory = case.tensor("memory", batch, case.integer("m", fewest, 4), d)
    apart = differ and places(block) == 3 and case.flag("values differ")
    return Tokens(block, heads, queries, memory, case.tensor("values", *memory.shape) if apart else memory)


def _looks_back(case: Case, block: Any, d: int) -> bool:
    """Whether a user's block lets nothing look at later tokens, by itself: said, or seen where it takes no mask."""
    if case.subject.mask == "causal":
        return True
    if not case.subject.foreign or mask_name(block) is not None or places(block) > 1:
        return False
    x = torch.randn(1, 3, d, generator=case.generator("tokens"), dtype=torch.float64, device="cpu").to(case.place.dtype)
    x = x.to(case.place.device)
    other = [x.index_copy(1, torch.tensor([i], device=x.device), x[:, i : i + 1] + 1) for i in (0, 2)]
    try:
        with torch.no_grad():
            result, without_first, without_last = (attended(block, tokens, tokens) for tokens in (x, *other))
    except Refused:
        return False
    return result[:, :2].equal(without_last[:, :2]) and not result[:, 2].equal(without_first[:, 2])


def _of_heads(case: Case, heads: int) -> dict[str, int]:
    implementation = case.subject.implementation
    if isinstance(implementation, nn.Module) or "num_key_value_heads" not in settings_of(implementation):
        return {}
    divisors = [g for g in range(heads, 0, -1) if heads % g == 0]
    return {
        "num_key_value_heads": case.choice("num_key_value_heads", divisors),
        "head_dim": case.integer("head_dim", 1, 3),
    }


def _mask(case: Case, seen: Tokens) -> Tensor | None:
    if seen.looks_back:
        mask = case.drawn["mask of its own"] = causal_mask(seen.queries.shape[1])
        return mask
    if mask_name(seen.block) is None or not case.flag("masked"):
        return None
    if case.counts_keys:
        return case.mask("mask", len(seen.queries), 1, seen.queries.shape[1], seen.memory.shape[1])
    return case.mask("mask", seen.queries.shape[1], seen.memory.shape[1])


# Twin, peer and example


def _call(case: Case) -> Call:
    seen = tokens(case, grouped=True, differ=True)
    mask, maps = _mask(case, seen), Projections(case, seen.block)
    options = {"seen": seen, "maps": maps, "mask": array(mask)}
    return Call(lambda *leaves: seen(mask), (*seen.leaves, *maps.leaves), options=options)


def _twin(*leaves: scratch.Tensor, seen: Tokens, maps: Projections, mask: Any) -> scratch.Tensor:
    inputs, weights = leaves[: len(seen.leaves)], leaves[len(seen.leaves) :]
    in_weight, in_bias, out_weight, out_bias = maps.arranged(weights)
    assert in_weight is not None
    assert out_weight is not None
    by_tensor = dict(zip(map(id, seen.leaves), inputs, strict=True))
    queries, keys, values = (by_tensor[id(x)] for x in seen.inputs)
    return attention.multi_head(queries, keys, values, seen.heads, in_weight, in_bias, out_weight, out_bias, mask)


in_turn = Fault(spread=lambda self, x: x.repeat(1, self.num_heads // self.num_key_value_heads, 1, 1))
conform(BLOCK, _call, twin=attention.multi_head, twin_call=_twin, fault=in_turn)


def _call_looking_back(case: Case) -> Call:
    seen = tokens(case, alone=True)
    if seen.looks_back or not _can_look_back(seen.block):
        raise Incomparable("it takes no is_causal")
    x, maps = seen.queries, Projections(case, seen.block)
    options = {"seen": seen, "maps": maps, "mask": array(causal_mask(x.shape[1]))}
    return Call(lambda *leaves: _causal(seen.block, x), (*seen.leaves, *maps.leaves), options=options)


def _can_look_back(block: Any) -> bool:
    """Whether it takes `is_causal`; to torch's it is a mere hint, which must come with a mask."""
    parts = block.modules() if isinstance(block, nn.Module) else ()
    hint = any(isinstance(part, nn.MultiheadAttention) for part in parts)
    return not hint and bool({*OTHER_NAMES["is_causal"]} & {*arguments(block)})


conform(BLOCK, _call_looking_back, twin=attention.multi_head, twin_call=_twin, about="with is_causal")


@peer(BLOCK, "torch.nn.MultiheadAttention")
def torchs(case: Case) -> float:
    seen = tokens(case, differ=True)
    mask, maps = _mask(case, seen), Projections(case, seen.block)
    theirs = nn.MultiheadAttention(seen.queries.shape[-1], seen.heads, batch_first=True).double()
    inputs = seen.inputs
    hidden = None if mask is None else ~mask  # as it is there
    if hidden is not None and hidden.ndim == 4:
        hidden = hidden.expand(-1, seen.heads, -1, -1).flatten(0, 1)
    options = {"attn_mask": hidden, "average_attn_weights": False}
    wanted, shares = torch.func.functional_call(theirs, maps.packed(), inputs, options)
    leaves = [x for x in (*seen.leaves, *maps.leaves) if x.requires_grad]
    error = difference(seen(mask), wanted, leaves)
    if isinstance(seen.block, MultiheadAttention) and hasattr(seen.block.attention, "weights"):
        error = max(error, difference(seen.block.weights(seen.queries, seen.memory, mask), shares, leaves))
    return error


@peer(BLOCK, "torch.nn.functional.scaled_dot_product_attention")
def torchs_grouped_queries(case: Case) -> float:
    seen = tokens(case, grouped=True)
    mask, maps = _mask(case, seen), Projections(case, seen.block)
    weight, bias, out_weight, out_bias = maps.packed().values()
    features = out_weight.shape[1]
    rows = [features, *[(len(weight) - features) // 2] * 2]
    parts = zip(weight.split_with_sizes(rows), bias.split_with_sizes(rows), strict=True)
    projected = map(F.linear, (seen.queries, seen.memory, seen.memory), *zip(*parts, strict=True))
    q, k, v = (x.reshape(*x.shape[:2], -1, features // seen.heads).transpose(1, 2) for x in projected)
    pooled = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    return difference(seen(mask), F.linear(pooled.transpose(1, 2).flatten(2), out_weight, out_bias), seen.leaves)


example(BLOCK, call=lambda n, d: ({"embed_dim": d, "num_heads": 2}, (torch.randn(1, n, d),)), n=5, d=8)

# Laws. Most faults are put in as the attention of the heads.

Heads = Callable[..., Any]


def _with(fault: Heads) -> Callable[..., nn.Module]:
    return lambda **settings: MultiheadAttention(**settings, attention=fault)


def _heads_below_one_another(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    """The heads' results read off as they lie, heads before positions, which mixes the positions."""
    result: Tensor = ScaledDotAttention()(q, k, v, mask)
    batch, heads, n, size = result.shape
    return result.reshape(batch, n, heads, size).transpose(1, 2)


def _masked_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    weights = ScaledDotAttention().weights(q, k)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


def _everywhere_instead_of_nowhere(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return ScaledDotAttention()(q, k, v, None if mask is None else mask | ~mask.any(-1, keepdim=True))


def _from_the_first_key(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Any:
    return nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal)


def _later_values_count_more(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return ScaledDotAttention()(q, k, v * torch.arange(1.0, v.shape[-2] + 1)[:, None], mask)


@law(BLOCK, id="attention-query-equivariance", fault=_with(_heads_below_one_another))
def the_order_of_tokens_is_carried_through(case: Case) -> float:
    """self-attention: f(X[τ]) = f(X)[τ]"""
    seen = tokens(case, 2, alone=True)
    if seen.looks_back:
        raise Incomparable(LOOKS_BACK)
    order = case.permutation("τ", seen.queries.shape[1])
    moved = seen.queries[:, order]
    return difference(attended(seen.block, moved, moved), seen()[:, order])


@law(BLOCK, id="attention-kv-invariance", fault=_with(_later_values_count_more))
def the_order_of_keys_is_nothing(case: Case) -> float:
    """att(Q, K[τ], V[τ]) = att(Q, K, V)"""
    seen = tokens(case, 2)
    order = case.permutation("τ", seen.memory.shape[1])
    return difference(attended(seen.block, seen.queries, seen.memory[:, order]), seen())


@law(BLOCK, id="stacked-qkv-projection", fault=_with(_heads_below_one_another))
def each_head_adds_its_own_part(case: Case) -> float:
    """Y = Σₐ softmax(Qₐ Kₐᵀ / √(d/h)) Vₐ Wᴼₐ + b, each head with its own features"""
    seen = tokens(case, 2)
    if seen.looks_back:
        raise Incomparable(LOOKS_BACK)
    weight, bias, out_weight, total = Projections(case, seen.block).packed().values()
    d = seen.queries.shape[-1]
    for own in torch.arange(d).chunk(seen.heads):
        q, k, v = (
            x @ weight[own + part * d].T + bias[own + part * d]
            for part, x in enumerate((seen.queries, seen.memory, seen.memory))
        )
        total = total + torch.softmax(q @ k.mT / len(own) ** 0.5, -1) @ v @ out_weight[:, own].T
    return difference(seen(), total)


def _keys_for_values(self: Any, *inputs: Tensor) -> list[Tensor]:
    """One product for all three, whose parts are taken in the wrong order."""
    q, k, v = MultiheadAttention._heads(self, *inputs)
    return [q, v, k] if inputs[0] is inputs[1] else [q, k, v]


@law(BLOCK, id="stacked-qkv-projection", fault=Fault(_heads=_keys_for_values))
def three_projections_at_once_are_three(case: Case) -> float:
    """[q; k; v] = [W_q; W_k; W_v] x: self-attention is attention to a copy of itself"""
    seen = tokens(case, 2, alone=True)
    return difference(attended(seen.block, seen.queries, seen.queries.clone()), seen())


@law(BLOCK, fault=_with(_masked_after_the_softmax))
def what_is_hidden_might_as_well_not_be_there(case: Case) -> float:
    """f(X, hiding some)[others] = f(X[others]), and so are all gradients"""
    seen = tokens(case, 2, alone=True)
    if seen.looks_back:
        raise Incomparable(LOOKS_BACK)
    x = seen.queries
    visible = case.mask("visible", x.shape[1])
    without = x[:, visible]
    got = seen(visible.expand(x.shape[1], -1))[:, visible]
    return difference(got, attended(seen.block, without, without), [x])


@law(BLOCK, fault=_with(_everywhere_instead_of_nowhere))
def a_query_that_may_look_nowhere_gets_the_bias(case: Case) -> float:
    """mask = false everywhere ⇒ y = b, and no gradient by the tokens"""
    if case.subject.foreign:
        raise Incomparable("what a query gets that may look nowhere is a convention, which others do not have")
    seen = tokens(case, 2)
    mask = case.mask("mask", seen.queries.shape[1], seen.memory.shape[1])
    mask[0] = False
    result = seen(mask)[:, 0]
    wanted = Projections(case, seen.block).packed()["out_proj.bias"].expand_as(result)
    return difference((result, *gradients(result, seen.leaves)), (wanted, *map(torch.zeros_like, seen.leaves)))


def _the_first_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return ScaledDotAttention()(q, k, v, mask if mask is None or mask.ndim < 3 else mask[:1])


@law(BLOCK, fault=_with(_the_first_mask))
def each_example_has_its_own_mask(case: Case) -> float:
    """f(X, masks)ᵢ = f(Xᵢ, maskᵢ), whether the masks have an axis for the heads or not"""
    seen = tokens(case, 2, alone=True)
    if seen.looks_back:
        raise Incomparable(LOOKS_BACK)
    x = torch.cat([seen.queries, case.tensor("another", *seen.queries.shape)])
    masks = case.mask("masks", len(x), x.shape[1], x.shape[1])
    alone = torch.cat([attended(seen.block, x[i : i + 1], x[i : i + 1], mask) for i, mask in enumerate(masks)])
    errors = []
    for form in (masks, masks[:, None]):
        try:
            errors.append(difference(attended(seen.block, x, x, form), alone))
        except (Refused, AssertionError, ShapeError):  # a shape that it does not take
            continue
    if not errors:
        raise Incomparable("it takes one mask for all examples")
    return min(errors)


@law(BLOCK, fault=_with(_masked_after_the_softmax))
def no_result_knows_of_later_tokens(case: Case) -> float:
    """causal: ∂yᵢ/∂xⱼ = 0 for j > i"""
    seen = tokens(case, 2, alone=True)
    x = seen.queries
    i = case.integer("i", 0, x.shape[1] - 2)
    result = seen() if seen.looks_back else _causal(seen.block, x)
    (gradient,) = gradients(result[:, i], [x])
    return float(gradient[:, i + 1 :].abs().max())


def _causal(block: Any, x: Tensor, **more: Any) -> Tensor:
    if _can_look_back(block):
        return first(block(*[x] * places(block), is_causal=True, **more))
    return attended(block, x, x, causal_mask(x.shape[1]))


@law(BLOCK, fault=_with(_from_the_first_key))
def some_tokens_at_a_time_with_a_cache_is_all_at_once(case: Case) -> float:
    """causal: f(X[:t]), then f(X[t:]) with the keys and values of the first, is f(X)"""
    seen = tokens(case, 3, alone=True)
    if "cache" not in arguments(seen.block):
        raise Incomparable("it takes no cache")
    x, cache = seen.queries, KeyValueCache()
    parts = [_causal(seen.block, part, cache=cache) for part in torch.split(x, case.integer("at a time", 1, 2), 1)]
    return difference(torch.cat(parts, 1), _causal(seen.block, x))
