"""What is known of attention at linear cost."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gradlab.scratch import attention, features, linear_attention
from gradlab.verification.calls import accepts
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.comparing import array, difference, gradients
from gradlab.verification.families.features import directions
from gradlab.verification.subject import Incomparable

LINEAR, PERFORMER = BOTH = ("attention.linear", "attention.performer")
MAPS: dict[str, Callable[..., Any]] = {"positive": features.positive, "cosh": features.cosh}


def build(case: Case, d: int) -> Any:
    """The block of the case for vectors of d entries."""
    settings: dict[str, Any] = {"chunk_size": case.integer("chunk_size", 1, 4)}
    if case.subject.name == PERFORMER:
        settings |= {"dim": d, "num_features": case.integer("num_features", 1, 6)}
        settings |= {"form": case.choice("form", tuple(MAPS)), "orthogonal": case.flag("orthogonal")}
    return case.build(**settings)


def triple(case: Case, *, n: int | None = None) -> tuple[Any, Tensor, Tensor, Tensor]:
    """A block, queries, keys and values; with n, of this number each."""
    batch = case.sizes(2, (0, 2))
    queries, keys = (n, n) if n else (case.integer("queries", 1, 6), case.integer("keys", 1, 6))
    d = case.integer("dim", 1, 4)
    q, k = case.tensor("q", *batch, queries, d), case.tensor("k", *batch, keys, d)
    return build(case, d), q, k, case.tensor("v", *batch, keys, case.integer("value_dim", 1, 3))


def kernel(block: Any, q: Tensor, k: Tensor) -> Tensor:
    """The weights before they are normalised, written out."""
    features, root = part(block, "feature_map"), q.shape[-1] ** 0.25 if hasattr(block, "num_features") else 1.0
    weights: Tensor = features(q / root) @ features(k / root).mT
    return weights


def part(block: Any, name: str) -> Any:
    if not hasattr(block, name):
        raise Incomparable(f"it has no {name}")
    return getattr(block, name)


def stepwise(block: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The outputs of `step`, position by position."""
    state, outputs = None, []
    for i in range(q.shape[-2]):
        output, state = part(block, "step")(q[..., i, :], k[..., i, :], v[..., i, :], state)
        outputs.append(output)
    return torch.stack(outputs, -2)


# Twins, peers and examples


def _visible(case: Case, block: Any, q: Tensor, k: Tensor) -> tuple[bool, Tensor]:
    """Whether later keys are hidden, and where a key may be seen; the last of both stand at the same place."""
    is_causal, (n, m) = accepts(block, "is_causal") and case.flag("is_causal"), (q.shape[-2], k.shape[-2])
    return is_causal, torch.ones(n, m, dtype=torch.bool).tril(m - n if is_causal else m)


def _factored(case: Case) -> Call:
    block, *inputs = triple(case)
    return Call(block, inputs, options={"block": block})


def _weighted(case: Case) -> Call:
    """Others place the first query at the first key, which is the same where there are as many."""
    block, q, k, v = triple(case, n=case.integer("length", 1, 6) if case.subject.foreign else None)
    is_causal, visible = _visible(case, block, q, k)
    mask = case.mask("mask", *k.shape[:-2], 1, k.shape[-2]) if accepts(block, "mask") else None
    options = {"mask": array(visible if mask is None else mask & visible)}
    return Call(lambda *qkv: block(*qkv, mask, is_causal=is_causal), (q, k, v), options=options)


def _recurrent(case: Case) -> Call:
    block, *inputs = triple(case, n=case.integer("length", 1, 6))
    return Call(lambda *qkv: stepwise(block, *qkv), inputs)


def _performer(case: Case) -> Call:
    block, q, k, v = triple(case)
    is_causal, visible = _visible(case, block, q, k)
    omega = array(directions(part(block, "feature_map")))
    options = {"omega": omega, "mask": array(visible), "features": MAPS[case.drawn["form"]]}
    return Call(lambda *qkv: block(*qkv, is_causal=is_causal), (q, k, v), options=options)


def _softmax_of_the_logarithm(call: Call) -> Tensor:
    """The softmax of log w is w, normalised."""
    q, k, v = call.inputs
    scores, nothing = kernel(call.options["block"], q, k).log(), (torch.zeros_like(q), torch.zeros_like(k))
    return F.scaled_dot_product_attention(*nothing, v, attn_mask=scores)


def causal(always: bool) -> Fault:
    return Fault(forward=lambda self, q, k, v, mask=None, **_: self.right(q, k, v, mask, is_causal=always))


conform(
    LINEAR,
    _factored,
    twin=attention.linear,
    twin_call=lambda *qkv, block: attention.linear(*qkv),
    peer={"torch.nn.functional.scaled_dot_product_attention": _softmax_of_the_logarithm},
    fault=causal(True),
)
conform(LINEAR, _weighted, twin=linear_attention.weighted)
conform(LINEAR, _recurrent, twin=linear_attention.recurrent)
conform(PERFORMER, _performer, twin=linear_attention.performer, fault=causal(True))
example(LINEAR, call=lambda n, d: ({}, tuple(torch.randn(3, n, d))), n=10, d=4)
example(PERFORMER, call=lambda n, d, k: ({"dim": d, "num_features": k}, tuple(torch.randn(3, n, d))), n=10, d=4, k=6)

# Laws


def _shared_divisor(self: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    """One divisor for all queries, as if it had no index."""
    divisors = kernel(self, q, k).sum(-1, keepdim=True)
    return self.right(q, k, v, *args, **options) * divisors / divisors.mean(-2, keepdim=True)


def _forgets_earlier_chunks(self: Any, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Any:
    parts = zip(*(torch.split(x, self.chunk_size, -2) for x in (q, k, v)), strict=True)
    return torch.cat([self.right(*part, **options) for part in parts], -2)


def _by_plain_features(self: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    weights = kernel(self, q, k)
    return weights @ v / weights.sum(-1, keepdim=True)


@law(*BOTH, id="feature-map-factorisation", fault=Fault(forward=_shared_divisor))
def the_factored_form_is_the_normalised_kernel_matrix(case: Case) -> float:
    """φ(Q) (φ(K)ᵀV) / φ(Q) (φ(K)ᵀ1) = (A / A1) V with A = φ(Q) φ(K)ᵀ"""
    block, q, k, v = triple(case)
    weights = kernel(block, q, k)
    return difference(block(q, k, v), weights / weights.sum(-1, keepdim=True) @ v, [q, k, v])


@law(*BOTH, fault=causal(False))
def the_causal_form_is_the_lower_triangle(case: Case) -> float:
    """(tril(A) / tril(A)1) V, for any length and chunk"""
    block, q, k, v = triple(case, n=case.integer("length", 1, 9))
    weights = kernel(block, q, k).tril()
    return difference(block(q, k, v, is_causal=True), weights / weights.sum(-1, keepdim=True) @ v, [q, k, v])


@law(*BOTH, fault=Fault(forward=_forgets_earlier_chunks))
def it_is_a_recurrent_network(case: Case) -> float:
    """causal: chunk by chunk = step by step, with the state S = Σ φ(k)vᵀ, z = Σ φ(k)"""
    block, q, k, v = triple(case, n=case.integer("length", 1, 9))
    return difference(block(q, k, v, is_causal=True), stepwise(block, q, k, v), [q, k, v])


def _masks_values_only(self: Any, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, **options: Any) -> Any:
    """Masked keys stay in the divisor."""
    return self.right(q, k, v if mask is None else v * mask.mT, **options)


@law(*BOTH, fault=Fault(forward=_masks_values_only))
def a_masked_key_is_no_key(case: Case) -> float:
    """f(Q, K, V, mask) = f(Q, K[mask], V[mask])"""
    d, m = case.integer("dim", 1, 4), case.integer("keys", 1, 6)
    q, k, v = case.tensor("q", 3, d), case.tensor("k", m, d), case.tensor("v", m, 2)
    mask, block = case.mask("mask", m), build(case, d)
    return difference(block(q, k, v, mask[None]), block(q, k[mask], v[mask]), [q, k, v])


@law(*BOTH, fault=Fault(forward=_by_plain_features))
def a_query_without_keys_gets_zeros(case: Case) -> float:
    """no key takes part ⟹ o = 0, and the gradients are numbers"""
    block, q, k, v = triple(case)
    nobody = torch.zeros(1, k.shape[-2], dtype=torch.bool)
    o = block(q, k, v, nobody, is_causal=case.flag("is_causal"))
    results = [o, *gradients(o, [q, k, v])]
    return max(difference(x, torch.zeros_like(x)) if x.isfinite().all() else torch.inf for x in results)


@law(*BOTH, fault=Fault(forward=_by_plain_features), tolerance=1e-6)
def far_keys_do_not_vanish(case: Case) -> float:
    """the weights sum to 1 where all features are 0 in float32"""
    if case.subject.foreign:
        raise Incomparable("others divide by a sum of features, which may round to 0")
    length, d = case.integer("length", 1, 6), case.integer("dim", 1, 4)
    block = build(case, d).float()
    x = (case.tensor("x", length, d).detach() - 150).float()  # e^-150 is 0 in float32
    ones = torch.ones(2, length, 1)
    sums = torch.stack([block(x, x, ones[0], is_causal=is_causal) for is_causal in (False, True)])
    return difference(sums, ones)


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


def _unscaled(self: Any, q: Tensor, k: Tensor, v: Tensor, *args: Any, **options: Any) -> Any:
    root = self.dim**0.25
    return self.right(q * root, k * root, v, *args, **options)


@law(PERFORMER, fault=Fault(forward=_unscaled), tolerance=5.0, most_cases=3)
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
