"""What is known of attention in all its kinds: the weights are those of a mean, and the mask is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn.blocks import find_block
from gradlab.scratch import attention
from gradlab.verification.case import Case
from gradlab.verification.checks import law, twin
from gradlab.verification.comparing import agreement, difference, excess, gradients, same
from gradlab.verification.families.attention.looking import built, look, mask_name, takes

Settings = Callable[[Case], dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """How a block is drawn, and the function of the glass engine that is its twin."""

    twin: Callable[..., scratch.Tensor]
    settings: Settings = lambda case: {}
    parameters: tuple[str, ...] = ()
    """Those that the twin takes after the values."""

    off_the_grid: float = 0.0
    """Added to all queries, so that none is exactly at a key or at an edge, where there is no slope."""


def _scale(case: Case) -> dict[str, Any]:
    return {"scale": case.choice("scale", (None, 0.5, 2.0))} if takes(case, "scale") else {}


def _dims(*more: str) -> Settings:
    return lambda case: {name: case.integer(name, 1, 3) for name in ("query_dim", "key_dim", *more)}


def _kernel(function: Callable[..., scratch.Tensor]) -> Kind:
    return Kind(function, lambda case: {"width": case.real("width", 0.5, 3)}, off_the_grid=0.037)


KINDS = {
    "attention.dot": Kind(attention.dot),
    "attention.scaled_dot": Kind(attention.scaled_dot, _scale),
    "attention.general": Kind(attention.general, _dims(), ("weight",)),
    "attention.reduced_rank": Kind(attention.reduced_rank, _dims("rank"), ("query_weight", "key_weight")),
    "attention.additive": Kind(attention.additive, _dims("hidden_dim"), ("query_weight", "key_weight", "score_weight")),
    "attention.hard": Kind(attention.hard),
    "attention.gaussian": _kernel(attention.gaussian),
    "attention.boxcar": _kernel(attention.boxcar),
    "attention.epanechnikov": _kernel(attention.epanechnikov),
    "attention.triangular": _kernel(attention.triangular),
}
UNBOUNDED = [name for name, kind in KINDS.items() if not kind.off_the_grid] + ["attention.gaussian"]
KERNELS = ("attention.gaussian", "attention.boxcar", "attention.epanechnikov", "attention.triangular")


@dataclass(frozen=True)
class Scene:
    """A block, and what it is to look at."""

    block: Any
    queries: Tensor
    keys: Tensor
    values: Tensor
    settings: Mapping[str, Any]
    shift: float = 0.0

    def __call__(self, mask: Tensor | None = None, **other: Tensor) -> Tensor:
        """What the queries get; they, the keys and the values may be replaced."""
        q, k, v = (other.get(name, getattr(self, name)) for name in ("queries", "keys", "values"))
        return look(self.block, q + self.shift, k, v, mask=mask)

    @property
    def leaves(self) -> list[Tensor]:
        return [self.queries, self.keys, self.values]


def scene(case: Case, fewest: int = 1, batch: Sequence[int] = (1,)) -> Scene:
    """The block of a case, with queries, keys and values."""
    kind = KINDS[case.subject.name]
    settings: dict[str, Any] = kind.settings(case)
    n, m, e = case.integer("n", fewest, 3), case.integer("m", fewest, 4), case.integer("e", 1, 3)
    d = settings["query_dim"] if "query_dim" in settings else case.integer("d", 1, 3)
    queries = case.tensor("queries", *batch, n, d)
    keys = case.tensor("keys", *batch, m, settings.get("key_dim", d))
    values = case.tensor("values", *batch, m, e)
    return Scene(built(case, **settings), queries, keys, values, settings, kind.off_the_grid)


def leading_axes(case: Case) -> list[int]:
    """Of a batch, of heads, or of none; blocks of users have one."""
    if case.subject.made is not find_block(case.subject.name):
        return [case.integer("batch", 1, 2)]
    return [case.integer(f"batch {axis}", 1, 2) for axis in range(case.integer("batch axes", 0, 3))]


def mask_for(case: Case, seen: Scene) -> Tensor | None:
    """No mask, one for all, or one for each member of a batch. Blocks of users have one for all, if they take any."""
    if mask_name(seen.block) is None or not case.flag("masked"):
        return None
    own = case.subject.made is find_block(case.subject.name)
    batch = seen.queries.shape[:-2] if own and case.flag("each its own mask") else ()
    return case.mask("mask", *batch, seen.queries.shape[-2], seen.keys.shape[-2])


def _judged(name: str, kind: Kind) -> None:
    @twin(name, kind.twin)
    def twin_check(case: Case) -> float:
        seen = scene(case, batch=leading_axes(case))
        mask = mask_for(case, seen)
        parameters = case.weights(seen.block, *kind.parameters) if kind.parameters else []
        told = {key: seen.settings[key] for key in ("scale", "width") if key in seen.settings}

        def by_hand(q: scratch.Tensor, *others: scratch.Tensor) -> scratch.Tensor:
            return kind.twin(q + seen.shift, *others, mask=None if mask is None else mask.numpy(), **told)

        return agreement(seen(mask), by_hand, *seen.leaves, *parameters)


for _name, _kind in KINDS.items():
    _judged(_name, _kind)


# Laws of all kinds. Each comes with a fault that is put into each of them.


class Faulty(nn.Module):
    """A block whose call goes through a fault."""

    def __init__(self, block: Any, fault: Callable[..., Tensor]):
        super().__init__()
        self.inner, self.fault = block, fault

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.fault(self.inner, queries, keys, values, mask)


def with_fault(fault: Callable[..., Tensor], *names: str) -> dict[str, Callable[..., nn.Module]]:
    """For each block the version with this fault."""

    def broken(name: str) -> Callable[..., nn.Module]:
        return lambda **settings: Faulty(find_block(name)(**settings), fault)

    return {name: broken(name) for name in names or KINDS}


def _numbered(x: Tensor) -> Tensor:
    """1, 2, 3, … along the axis of positions."""
    return torch.arange(1.0, x.shape[-2] + 1, dtype=x.dtype)[:, None]


@law(
    *UNBOUNDED,
    "attention.epanechnikov",
    wrong=with_fault(lambda inner, q, k, v, mask: inner(q, k, v, mask) * k.shape[-2]),
)
def the_result_lies_between_the_values(case: Case) -> float:
    """minⱼ vⱼ ≤ o ≤ maxⱼ vⱼ in each coordinate: o is in the convex hull of the values"""
    seen = scene(case, 2)
    # Kernels of bounded reach have no say far from all keys, but at a key they have.
    near = seen.keys.detach() - seen.shift if case.subject.name in KERNELS else seen.queries
    result = seen(queries=near)
    low, high = (seen.values.amin(-2, keepdim=True), seen.values.amax(-2, keepdim=True))
    return max(excess(low - result, 0.0), excess(result - high, 0.0))


@law(*UNBOUNDED, wrong=with_fault(lambda inner, q, k, v, mask: inner(q, k, v * _numbered(v), mask)))
def the_order_of_keys_is_nothing(case: Case) -> float:
    """att(Q, K[τ], V[τ]) = att(Q, K, V)"""
    seen = scene(case, 2)
    order = case.permutation("τ", seen.keys.shape[-2])
    return difference(seen(keys=seen.keys[..., order, :], values=seen.values[..., order, :]), seen())


@law(*UNBOUNDED, wrong=with_fault(lambda inner, q, k, v, mask: inner(q, k, v, mask) * _numbered(q)))
def the_order_of_queries_is_kept(case: Case) -> float:
    """att(Q[τ], K, V) = att(Q, K, V)[τ]"""
    seen = scene(case, 2)
    order = case.permutation("τ", seen.queries.shape[-2])
    return difference(seen(queries=seen.queries[..., order, :]), seen()[..., order, :])


@law(*UNBOUNDED, wrong=with_fault(lambda inner, q, k, v, mask: inner(q, k[..., :1, :], v[..., :1, :])))
def equal_keys_give_the_mean_of_the_values(case: Case) -> float:
    """k₁ = … = kₘ ⇒ o = (1/m) Σⱼ vⱼ: average pooling"""
    seen = scene(case, 2)
    alike = seen.keys[..., :1, :].expand_as(seen.keys)
    near = alike[..., :1, :] - seen.shift if case.subject.name in KERNELS else seen.queries
    result = seen(queries=near, keys=alike)
    return difference(result, seen.values.mean(-2, keepdim=True).expand_as(result))


def _masked_after_the_softmax(inner: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    weights: Tensor = inner.weights(q, k)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


@law(*UNBOUNDED, "attention.epanechnikov", wrong=with_fault(_masked_after_the_softmax))
def what_is_hidden_might_as_well_not_be_there(case: Case) -> float:
    """att(q, K, V, mask) = att(q, K[mask], V[mask]), and so are all gradients"""
    seen = scene(case, 2)
    mask = case.mask("mask", seen.queries.shape[-2], seen.keys.shape[-2])
    rows = [
        seen(
            queries=seen.queries[..., i : i + 1, :],
            keys=seen.keys[..., visible, :],
            values=seen.values[..., visible, :],
        )
        for i, visible in enumerate(mask)
    ]
    return same(seen(mask), torch.cat(rows, -2), seen.leaves)


@law(*KINDS, wrong=with_fault(lambda inner, q, k, v, mask: inner(q, k, v, mask | ~mask.any(-1, keepdim=True))))
def a_query_that_may_look_nowhere_gets_zero(case: Case) -> float:
    """mask = false everywhere ⇒ o = 0, and no gradient"""
    seen = scene(case, 2)
    mask = case.mask("mask", seen.queries.shape[-2], seen.keys.shape[-2])
    mask[0] = False
    result = seen(mask)[..., 0, :]
    return difference((result, *gradients(result, seen.leaves)), tuple(map(torch.zeros_like, (result, *seen.leaves))))
