"""What is known of attention by dot products, soft and hard."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn import attention as ours
from gradlab.nn.attention.masks import causal_mask
from gradlab.scratch import attention
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess, same
from gradlab.verification.families.attention.every_kind import leading_axes, mask_for, scene, with_fault
from gradlab.verification.families.attention.looking import arguments, built, first, look

DOTS = ("attention.dot", "attention.scaled_dot")


def scale_of(case: Case, settings: Any, d: int) -> float:
    """The scale that a block of this name has."""
    if case.subject.name == "attention.dot":
        return 1.0
    scale = settings.get("scale")
    return d**-0.5 if scale is None else float(scale)


def _peer(name: str) -> None:
    @peer(name, "torch.nn.functional.scaled_dot_product_attention")
    def torchs(case: Case) -> float:
        seen = scene(case, batch=leading_axes(case))
        mask = mask_for(case, seen)
        q, k, v = seen.leaves
        scale = scale_of(case, seen.settings, q.shape[-1])
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        error = same(seen(mask), wanted, seen.leaves)
        if isinstance(seen.block, ours.ScaledDotAttention):  # whose weights are on another path than the result
            error = max(error, same(seen.block.weights(q, k, mask) @ v, wanted, seen.leaves))
        return error


for _name in DOTS:
    _peer(_name)


def _causal(block: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by the block's own flag, or by a mask if it has none."""
    if "is_causal" in arguments(block):
        return first(block(q, k, v, is_causal=True))
    return look(block, q, k, v, mask=causal_mask(q.shape[-2], k.shape[-2]))


class FromTheFirstKey(nn.Module):
    """PyTorch's own flag: the first query stands at the first key, whatever their numbers."""

    def __init__(self, scale: float | None = None):
        super().__init__()

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, *, is_causal: bool = False) -> Tensor:
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=is_causal)


@twin("attention.scaled_dot", attention.causal_mask)
def causal_twin(case: Case) -> float:
    seen = scene(case, batch=leading_axes(case))
    m, scale = seen.keys.shape[-2], seen.settings.get("scale")
    last = (..., slice(-m, None), slice(None))  # a query before the first key would see nothing
    n = min(m, seen.queries.shape[-2])

    def by_hand(q: scratch.Tensor, k: scratch.Tensor, v: scratch.Tensor) -> scratch.Tensor:
        return attention.scaled_dot(q[last], k, v, attention.causal_mask(n, m), scale)

    return agreement(_causal(seen.block, seen.queries[last], seen.keys, seen.values), by_hand, *seen.leaves)


@law(*DOTS, wrong=FromTheFirstKey)
def the_last_queries_alone_get_what_they_get_among_all(case: Case) -> float:
    """causal: att(Q[-n:], K, V) = att(Q, K, V)[-n:], as with keys from a cache"""
    seen = scene(case, 2)
    n, m = seen.queries.shape[-2], seen.keys.shape[-2]
    batch, d = seen.queries.shape[:-2], seen.queries.shape[-1]
    queries = case.tensor("all queries", *batch, m, d)
    last = queries[..., -min(n, m) :, :]
    together = _causal(seen.block, queries, seen.keys, seen.values)[..., -min(n, m) :, :]
    return difference(_causal(seen.block, last, seen.keys, seen.values), together)


@law(*DOTS, wrong=with_fault(lambda inner, q, k, v, mask: torch.softmax(inner.score(q, k), -2) @ v, *DOTS))
def columns_and_rows_give_the_same(case: Case) -> float:
    """H = V softmax(β Kᵀ Q), columns for positions, is the transpose of the row form; its columns sum to 1"""
    seen = scene(case, 2)
    q, k, v = (x.mT for x in seen.leaves)
    weights = torch.softmax(scale_of(case, seen.settings, q.shape[-2]) * (k.mT @ q), -2)
    return max(difference(seen().mT, v @ weights), difference(weights.sum(-2), torch.ones_like(weights.sum(-2))))


def _another_scale(inner: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, scale=1 / (q.shape[-1] + 1))


@law(*DOTS, wrong=with_fault(_another_scale, *DOTS), tolerance=5.0, most_cases=3)
def the_variance_of_a_score_is_known(case: Case) -> float:
    """Var(qᵀk) = d, so Var(qᵀk/√d) = 1, for entries of variance 1; 5 standard errors: one false alarm in 10⁶"""
    d, pairs = case.integer("d", 1, 16), 20_000
    q, k = (_many(case, name, pairs, n, d) for name, n in (("queries", 1), ("keys", 2)))
    weights = look(built(case), q, k, torch.eye(2, dtype=q.dtype).expand(pairs, 2, 2))  # the values show the weights
    gap = weights[:, 0, 0].log() - weights[:, 0, 1].log()  # the difference of two scores that are uncorrelated
    spread = scale_of(case, case.subject.fixed, d) ** 2 * d
    z = (gap.square() / (2 * spread)).mean() - 1
    return float(z.abs() / ((2 + 6 / d) / pairs) ** 0.5)


def _many(case: Case, name: str, *shape: int) -> Tensor:
    return torch.randn(shape, generator=case.generator(name), dtype=torch.float64)


# Hard attention, and the way there


class Coldest(ours.HardAttention):
    """The key that fits worst."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return -super().score(queries, keys)


@law("attention.hard", wrong=Coldest)
def it_is_where_sharper_and_sharper_attention_tends(case: Case) -> float:
    """|softmax(β Q Kᵀ) V - hard| ≤ 2 (m - 1) e^(-β gap) max|v|, so β → ∞ gives it"""
    n, m, d = case.integer("n", 1, 3), case.integer("m", 2, 4), case.integer("d", 1, 3)
    q, k, v = case.tensor("queries", n, d), case.tensor("keys", m, d), case.tensor("values", m, 2)
    scores = (q @ k.mT).detach()
    top = scores.amax(-1, keepdim=True)
    gap = torch.where(scores < top - 1e-9, top - scores, torch.inf).amin(-1, keepdim=True)  # ties share the weight
    beta = case.real("β", 1, 40)
    bound = 2 * (m - 1) * torch.exp(-beta * gap) * v.detach().abs().amax()
    soft = ours.ScaledDotAttention(scale=beta)(q, k, v)
    return excess((built(case)(q, k, v) - soft).abs() - 1e-12, bound)


@law("attention.hard", wrong=lambda: ours.DotAttention())
def a_key_looks_its_value_up(case: Case) -> float:
    """att(eᵢ, I, V) = vᵢ: a table"""
    m = case.integer("m", 2, 5)
    values = case.tensor("values", m, case.integer("e", 1, 3))
    order = case.permutation("asked for", m)
    table = torch.eye(m, dtype=values.dtype)
    return difference(built(case)(table[order], table, values), values[order])


@peer("attention.hard", "sklearn.neighbors.KNeighborsRegressor")
def nearest_neighbour(case: Case) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    m, d = case.integer("m", 1, 5), case.integer("d", 1, 3)
    keys = F.normalize(
        case.distinct("keys", m, d).detach() + 0.03, dim=-1
    )  # of one length: the best fit is the nearest
    q, v = case.tensor("queries", case.integer("n", 1, 3), d).detach() + 0.01, case.tensor("values", m, 2).detach()
    scores = (q @ keys.mT).topk(min(m, 2)).values
    if (scores[:, 0] - scores[:, -1]).min() < 1e-6 and m > 1:
        return 0.0  # of two that are equally near, the peer takes one, and attention both
    near = KNeighborsRegressor(1).fit(keys.numpy(), v.numpy()).predict(q.numpy())
    return difference(built(case)(q, keys, v), torch.from_numpy(near))


@example("attention.dot", n=3, m=4, d=5, e=2)
@example("attention.scaled_dot", n=3, m=4, d=5, e=2)
@example("attention.hard", n=3, m=4, d=5, e=2)
def dot_example(n: int, m: int, d: int, e: int) -> Any:
    return {}, (torch.randn(n, d), torch.randn(m, d), torch.randn(m, e), causal_mask(n, m))
