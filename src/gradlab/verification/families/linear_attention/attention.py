"""What is known of attention at linear cost."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gradlab.scratch import attention, features, linear_attention
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, same
from gradlab.verification.families.linear_attention.features import directions
from gradlab.verification.subject import Incomparable

MAPS: dict[str, Callable[..., Any]] = {"positive": features.positive, "cosh": features.cosh}


def build(case: Case, d: int) -> Any:
    """The block of the case for vectors of d entries."""
    settings: dict[str, Any] = {"chunk_size": case.integer("chunk_size", 1, 4)}
    if case.subject.name == "attention.performer":
        settings |= {"dim": d, "num_features": case.integer("num_features", 1, 6)}
        settings |= {"form": case.choice("form", tuple(MAPS)), "orthogonal": case.flag("orthogonal")}
    return case.build(**settings)


def triple(case: Case, *, n: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values; with n, of this number each."""
    batch = [case.integer(f"size {axis}", 1, 2) for axis in range(case.integer("axes", 0, 2))]
    queries, keys = (n, n) if n else (case.integer("queries", 1, 6), case.integer("keys", 1, 6))
    d = case.integer("dim", 1, 4)
    return (
        case.tensor("q", *batch, queries, d),
        case.tensor("k", *batch, keys, d),
        case.tensor("v", *batch, keys, case.integer("value_dim", 1, 3)),
    )


def kernel(block: Any, q: Tensor, k: Tensor) -> Tensor:
    """The weights before they are normalised, written out."""
    features, root = part(block, "feature_map"), q.shape[-1] ** 0.25 if hasattr(block, "num_features") else 1.0
    weights: Tensor = features(q / root) @ features(k / root).mT
    return weights


def part(block: Any, name: str) -> Any:
    if not hasattr(block, name):
        raise Incomparable(f"it has no {name}")
    return getattr(block, name)


def seen(n: int, m: int) -> Tensor:
    """True where the key is not later than the query; the last of both stand at the same place."""
    return torch.ones(n, m, dtype=torch.bool).tril(m - n)


def stepwise(block: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The outputs of `step`, position by position."""
    state, outputs = None, []
    for i in range(q.shape[-2]):
        output, state = part(block, "step")(q[..., i, :], k[..., i, :], v[..., i, :], state)
        outputs.append(output)
    return torch.stack(outputs, -2)


# Twins and peers


@twin("attention.linear", attention.linear)
def factored_twin(case: Case) -> float:
    q, k, v = triple(case)
    return agreement(build(case, q.shape[-1])(q, k, v), attention.linear, q, k, v)


@twin("attention.linear", linear_attention.weighted)
def weighted_twin(case: Case) -> float:
    q, k, v = triple(case)
    mask, is_causal = case.mask("mask", *k.shape[:-2], 1, k.shape[-2]), case.flag("is_causal")
    pairs = (mask & (seen(q.shape[-2], k.shape[-2]) | (not is_causal))).numpy()
    got = build(case, q.shape[-1])(q, k, v, mask, is_causal=is_causal)
    return agreement(got, lambda q, k, v: linear_attention.weighted(q, k, v, pairs), q, k, v)


@twin("attention.linear", linear_attention.recurrent)
def recurrent_twin(case: Case) -> float:
    q, k, v = triple(case, n=case.integer("length", 1, 6))
    return agreement(stepwise(build(case, q.shape[-1]), q, k, v), linear_attention.recurrent, q, k, v)


@twin("attention.performer", linear_attention.performer)
def performer_twin(case: Case) -> float:
    q, k, v = triple(case)
    block, is_causal = build(case, q.shape[-1]), case.flag("is_causal")
    pairs = (seen(q.shape[-2], k.shape[-2]) | (not is_causal)).numpy()
    omega, chosen = directions(part(block, "feature_map")).numpy(), MAPS[case.drawn["form"]]
    got = block(q, k, v, is_causal=is_causal)
    return agreement(got, lambda q, k, v: linear_attention.performer(q, k, v, omega, pairs, chosen), q, k, v)


@peer("attention.linear", "torch.nn.functional.scaled_dot_product_attention")
def softmax_of_the_logarithm(case: Case) -> float:
    """The softmax of log w is w, normalised."""
    q, k, v = triple(case)
    block = build(case, q.shape[-1])
    scores = kernel(block, q, k).log()
    nothing = torch.zeros_like(q), torch.zeros_like(k)
    return same(block(q, k, v), F.scaled_dot_product_attention(*nothing, v, attn_mask=scores), [q, k, v])


@example("attention.linear", n=10, d=4)
def linear_example(n: int, d: int) -> Any:
    return {}, tuple(torch.randn(3, n, d))


@example("attention.performer", n=10, d=4, k=6)
def performer_example(n: int, d: int, k: int) -> Any:
    return {"dim": d, "num_features": k}, tuple(torch.randn(3, n, d))
