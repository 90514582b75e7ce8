"""The laws of attention at linear cost. Each comes with a version of the block that breaks it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gradlab.nn.attention import linear as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess, gradients, same
from gradlab.verification.families.linear_attention.attention import MAPS, build, kernel, stepwise, triple

BOTH = ("attention.linear", "attention.performer")


def planted(change: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Both blocks with another `forward`, which is given the right one."""

    def wrong(made: type[ours.LinearAttention]) -> Callable[..., Any]:
        class Wrong(made):  # type: ignore[misc, valid-type]
            def forward(self, *args: Any, **options: Any) -> Any:
                return change(super().forward, self, *args, **options)

        return lambda **settings: Wrong(**settings)

    return {"attention.linear": wrong(ours.LinearAttention), "attention.performer": wrong(ours.PerformerAttention)}


def _shared_divisor(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    """One divisor for all queries, as if it had no index."""
    divisors = kernel(block, q, k).sum(-1, keepdim=True)
    return right(q, k, v, *args, **options) * divisors / divisors.mean(-2, keepdim=True)


def _always_causal(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, **_: Any) -> Any:
    return right(q, k, v, mask, is_causal=True)


def _never_causal(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, **_: Any) -> Any:
    return right(q, k, v, mask)


def _forgets_earlier_chunks(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Any:
    parts = zip(*(torch.split(x, block.chunk_size, -2) for x in (q, k, v)), strict=True)
    return torch.cat([right(*part, **options) for part in parts], -2)


def _masks_values_only(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, **o: Any) -> Any:
    """Masked keys stay in the divisor."""
    return right(q, k, v if mask is None else v * mask.mT, **o)


def _by_plain_features(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    weights = kernel(block, q, k)
    return weights @ v / weights.sum(-1, keepdim=True)


@law(*BOTH, wrong=planted(_shared_divisor))
def the_factored_form_is_the_normalised_kernel_matrix(case: Case) -> float:
    """φ(Q) (φ(K)ᵀV) / φ(Q) (φ(K)ᵀ1) = (A / A1) V with A = φ(Q) φ(K)ᵀ"""
    q, k, v = triple(case)
    block = build(case, q.shape[-1])
    weights = kernel(block, q, k)
    return same(block(q, k, v), weights / weights.sum(-1, keepdim=True) @ v, [q, k, v])


@law(*BOTH, wrong=planted(_forgets_earlier_chunks))
def the_causal_form_is_the_lower_triangle(case: Case) -> float:
    """for any length and chunk: (tril(A) / tril(A)1) V"""
    q, k, v = triple(case, n=case.integer("length", 1, 9))
    block = build(case, q.shape[-1])
    weights = kernel(block, q, k).tril()
    return same(block(q, k, v, is_causal=True), weights / weights.sum(-1, keepdim=True) @ v, [q, k, v])


@law(*BOTH, wrong=planted(_forgets_earlier_chunks))
def it_is_a_recurrent_network(case: Case) -> float:
    """chunk by chunk = step by step, with the state S = Σ φ(k)vᵀ, z = Σ φ(k)"""
    q, k, v = triple(case, n=case.integer("length", 1, 9))
    block = build(case, q.shape[-1])
    return same(block(q, k, v, is_causal=True), stepwise(block, q, k, v), [q, k, v])


@law(*BOTH, wrong=planted(_never_causal))
def no_output_sees_what_comes_later(case: Case) -> float:
    """is_causal: o₁ … oᵢ are functions of k₁ … kᵢ and v₁ … vᵢ"""
    n = case.integer("length", 2, 6)
    q, k, v = triple(case, n=n)
    cut, block = case.integer("cut", 1, n - 1), build(case, q.shape[-1])
    whole = block(q, k, v, is_causal=True)[..., :cut, :]
    return difference(whole, block(q[..., :cut, :], k[..., :cut, :], v[..., :cut, :], is_causal=True))


@law(*BOTH, wrong=planted(_always_causal))
def the_order_of_the_keys_is_nothing_to_it(case: Case) -> float:
    """f(Q, K[τ], V[τ]) = f(Q, K, V)"""
    q, k, v = triple(case)
    block, order = build(case, q.shape[-1]), case.permutation("order", k.shape[-2])
    return difference(block(q, k[..., order, :], v[..., order, :]), block(q, k, v))


@law(*BOTH, wrong=planted(_always_causal))
def the_order_of_the_queries_is_kept(case: Case) -> float:
    """f(Q[τ], K, V) = f(Q, K, V)[τ], hence f(X[τ]) = f(X)[τ] of self-attention"""
    q, k, v = triple(case)
    block, order = build(case, q.shape[-1]), case.permutation("order", q.shape[-2])
    itself = block(q, q, q)[..., order, :]
    q_moved = q[..., order, :]
    return difference((block(q_moved, k, v), block(q_moved, q_moved, q_moved)), (block(q, k, v)[..., order, :], itself))


@law(*BOTH, wrong=planted(_shared_divisor))
def outputs_lie_between_the_values(case: Case) -> float:
    """minⱼ vⱼ ≤ oᵢ ≤ maxⱼ vⱼ, entry by entry"""
    q, k, v = triple(case)
    o = build(case, q.shape[-1])(q, k, v)
    return max(excess(o, v.amax(-2, keepdim=True)), excess(v.amin(-2, keepdim=True), o))


@law(*BOTH, wrong=planted(_masks_values_only))
def a_masked_key_is_no_key(case: Case) -> float:
    """f(Q, K, V, mask) = f(Q, K[mask], V[mask])"""
    d, m = case.integer("dim", 1, 4), case.integer("keys", 1, 6)
    q, k, v = case.tensor("q", 3, d), case.tensor("k", m, d), case.tensor("v", m, 2)
    mask, block = case.mask("mask", m), build(case, d)
    return same(block(q, k, v, mask[None]), block(q, k[mask], v[mask]), [q, k, v])


@law(*BOTH, wrong=planted(_by_plain_features))
def a_query_without_keys_gets_zeros(case: Case) -> float:
    """no key takes part ⟹ o = 0, and the gradients are numbers"""
    q, k, v = triple(case)
    nobody = torch.zeros(1, k.shape[-2], dtype=torch.bool)
    o = build(case, q.shape[-1])(q, k, v, nobody, is_causal=case.flag("is_causal"))
    found = [o, *gradients(o, [q, k, v])]
    return max(difference(x, torch.zeros_like(x)) if x.isfinite().all() else torch.inf for x in found)


@law(*BOTH, wrong=planted(_by_plain_features), tolerance=1e-6)
def far_keys_do_not_vanish(case: Case) -> float:
    """the weights sum to 1 where all features are 0 in float32"""
    length, d = case.integer("length", 1, 6), case.integer("dim", 1, 4)
    block = build(case, d).float()
    x = (case.tensor("x", length, d).detach() - 150).float()  # e^-150 is 0 in float32
    ones = torch.ones(2, length, 1)
    sums = torch.stack([block(x, x, ones[0], is_causal=is_causal) for is_causal in (False, True)])
    return difference(sums, ones)


# Performer


def _unscaled(right: Any, block: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    root = block.dim**0.25
    return right(q * root, k * root, v, *args, **options)


def quotient_error(q: Tensor, k: Tensor, v: Tensor, o: Tensor, num_features: int) -> Tensor:
    """The standard error of each output of one query, q, with independent positive features.

    The quotient o = Σⱼ wⱼvⱼ / Σⱼ wⱼ of means moves with Σⱼ wⱼ (vⱼ - o) / E Σⱼ wⱼ, and the covariance of two weights,
    e^(ωᵀ(q+k) - ‖q‖²/2 - ‖k‖²/2), is known.
    """
    sums = q + k
    pairs = (sums[:, None] + sums[None, :]).square().sum(-1) / 2
    apart = (sums.square().sum(-1)[:, None] + sums.square().sum(-1)[None, :]) / 2
    norms = q.square().sum() + (k.square().sum(-1)[:, None] + k.square().sum(-1)[None, :]) / 2
    covariance = torch.exp(pairs - norms) - torch.exp(apart - norms)
    away = v - o
    variance = torch.einsum("id, ij, jd -> d", away, covariance, away) / (k @ q).exp().sum() ** 2
    return (variance.clamp(min=0) / num_features).sqrt()


@law("attention.performer", wrong=planted(_unscaled)["attention.performer"], tolerance=5.0, most_cases=3)
def with_many_features_it_is_softmax_attention(case: Case) -> float:
    """f(Q, K, V) → softmax(QKᵀ / √d) V, with an error of order 1/√k

    Measured in standard errors of independent features; those at right angles and those of both signs have smaller
    ones. A right block fails once in 50,000 times.
    """
    d, m, many = case.integer("dim", 2, 4), case.integer("keys", 2, 5), case.integer("num_features", 40_000, 40_000)
    q, k, v = (case.tensor(name, size, d).detach() for name, size in (("q", 3), ("k", m), ("v", m)))
    form, orthogonal = case.choice("form", tuple(MAPS)), case.flag("orthogonal")
    q, k = (x / x.norm(dim=-1, keepdim=True).clamp(min=1) for x in (q, k))
    block = case.build(dim=d, num_features=many, form=form, orthogonal=orthogonal)
    wanted, root = F.scaled_dot_product_attention(q, k, v), d**0.25
    errors = torch.stack([quotient_error(a / root, k / root, v, o, many) for a, o in zip(q, wanted, strict=True)])
    return float(((block(q, k, v) - wanted).abs() / errors.clamp(min=1e-9)).max())
