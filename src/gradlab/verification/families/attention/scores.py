"""What is known of attention by scores that are learned."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn import attention as ours
from gradlab.nn.attention.masks import causal_mask
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer
from gradlab.verification.comparing import difference, same
from gradlab.verification.families.attention.every_kind import scene
from gradlab.verification.families.attention.looking import built, look
from gradlab.verification.subject import Incomparable


@peer("attention.general", "torch.nn.Bilinear")
def torchs_bilinear(case: Case) -> float:
    seen = scene(case)
    (weight,) = case.weights(seen.block, "weight")
    n, m = seen.queries.shape[-2], seen.keys.shape[-2]
    q = seen.queries[..., :, None, :].expand(*seen.queries.shape[:-1], m, -1).contiguous()
    k = seen.keys[..., None, :, :].expand(*seen.keys.shape[:-2], n, -1, -1).contiguous()
    scores = F.bilinear(q, k, weight[None]).squeeze(-1)
    return same(seen(), torch.softmax(scores, -1) @ seen.values, [*seen.leaves, weight])


class Scaled(ours.GeneralAttention):
    """With a root that belongs to another kind."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().score(queries, keys) / math.sqrt(self.query_dim)


@law("attention.general", wrong=Scaled)
def with_the_identity_it_is_the_dot_product(case: Case) -> float:
    """W = a I ⇒ s = a qᵀk"""
    d, a = case.integer("query_dim", 1, 4), case.real("a", -2, 2)
    block = built(case, query_dim=d, key_dim=d)
    (weight,) = case.weights(block, "weight")
    with torch.no_grad():
        weight.copy_(a * torch.eye(d, dtype=torch.float64))
    q, k, v = (case.tensor(name, 3, d) for name in ("queries", "keys", "values"))
    return difference(look(block, q, k, v), ours.DotAttention()(a * q, k, v))


class Bent(ours.ReducedRankAttention):
    """A bend after the product gives the matrix of scores any rank."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return torch.tanh(super().score(queries, keys))


@law("attention.reduced_rank", wrong=Bent)
def it_is_general_with_a_product_for_its_matrix(case: Case) -> float:
    """(U q)ᵀ (V k) = qᵀ (Uᵀ V) k"""
    seen = scene(case, 2)
    u, v = case.weights(seen.block, "query_weight", "key_weight")
    general = ours.GeneralAttention(u.shape[1], v.shape[1]).double()
    with torch.no_grad():
        general.weight.copy_(u.T @ v)
    return difference(seen(), general(*seen.leaves))


@law("attention.reduced_rank", wrong=Bent)
def the_scores_have_no_more_than_its_rank(case: Case) -> float:
    """rank S ≤ r: all singular values after the first r are 0"""
    rank = case.integer("rank", 1, 2)
    d, c = case.integer("query_dim", 3, 5), case.integer("key_dim", 3, 5)
    block = built(case, query_dim=d, key_dim=c, rank=rank)
    if not hasattr(block, "score"):
        raise Incomparable("it has no method score, of which the rank could be found")
    sizes = torch.linalg.svdvals(block.score(case.tensor("queries", 5, d), case.tensor("keys", 5, c)))
    return float(sizes[rank:].max() / sizes[0].clamp(min=1e-3))


class WithBias(ours.AdditiveAttention):
    """A bias inside, as from layers with their default settings."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = (queries @ self.query_weight.T)[..., :, None, :] + (keys @ self.key_weight.T)[..., None, :, :]
        return torch.tanh(hidden + 1) @ self.score_weight


@law("attention.additive", wrong=WithBias)
def it_is_a_network_of_one_hidden_layer_on_the_pair(case: Case) -> float:
    """s = wᵀ tanh([A B] [q; k]), without biases"""
    seen = scene(case, 2)
    a, b, w = case.weights(seen.block, "query_weight", "key_weight", "score_weight")
    network = nn.Sequential(
        nn.Linear(a.shape[1] + b.shape[1], len(w), bias=False), nn.Tanh(), nn.Linear(len(w), 1, bias=False)
    )
    network.double().load_state_dict({"0.weight": torch.cat([a, b], 1), "2.weight": w[None]})
    n, m = seen.queries.shape[-2], seen.keys.shape[-2]
    q = seen.queries[..., :, None, :].expand(*seen.queries.shape[:-1], m, -1)
    k = seen.keys[..., None, :, :].expand(*seen.keys.shape[:-2], n, -1, -1)
    scores = network(torch.cat([q, k], -1)).squeeze(-1)
    return difference(seen(), torch.softmax(scores, -1) @ seen.values)


@example("attention.general", n=3, m=4, d=5, c=6, e=2)
def general_example(n: int, m: int, d: int, c: int, e: int) -> Any:
    return {"query_dim": d, "key_dim": c}, (torch.randn(n, d), torch.randn(m, c), torch.randn(m, e), causal_mask(n, m))


@example("attention.reduced_rank", n=3, m=4, d=5, c=6, e=2, r=2)
def reduced_rank_example(r: int, **sizes: int) -> Any:
    settings, inputs = general_example(**sizes)
    return {**settings, "rank": r}, inputs


@example("attention.additive", n=3, m=4, d=5, c=6, e=2, h=7)
def additive_example(h: int, **sizes: int) -> Any:
    settings, inputs = general_example(**sizes)
    return {**settings, "hidden_dim": h}, inputs
