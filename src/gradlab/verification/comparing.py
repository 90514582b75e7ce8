"""How far two computations are apart: the worst difference, relative to the largest entry of what is wanted."""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor

from gradlab import scratch

FLOOR = 1e-3  # what is smaller than this everywhere is compared as if its largest entry were this large


def difference(got: Any, wanted: Any) -> float:
    """The worst error of a tensor, or of several in tuples.

    >>> difference(torch.tensor([1.0, 4.1]), torch.tensor([1.0, 4.0])) < 0.026
    True
    """
    pairs = list(zip(flat(got), flat(wanted), strict=True))
    return max(_worst(a.detach(), b.detach()) for a, b in pairs)


def excess(smaller: Tensor, larger: Tensor | float) -> float:
    """By how much the first is larger where it should not be: 0 when the inequality holds everywhere."""
    return max(0.0, _number((smaller - larger).detach().max()))


def flat(values: Any) -> list[Tensor]:
    """The tensors in nested tuples, in order."""
    return [values] if isinstance(values, Tensor) else [t for value in values for t in flat(value)]


def same(got: Any, wanted: Any, leaves: Sequence[Tensor], other_leaves: Sequence[Tensor] | None = None) -> float:
    """The worst error of a value and of its gradients by the leaves. The wanted value may come from other leaves."""
    other_leaves = leaves if other_leaves is None else other_leaves
    errors = [difference(got, wanted)]
    for a, b in zip(gradients(got, leaves), gradients(wanted, other_leaves), strict=True):
        errors.append(_worst(a, b))
    return max(errors)


def agreement(got: Any, twin: Callable[..., Any], *leaves: Tensor) -> float:
    """The worst error of a value and its gradients by the leaves, judged by a function of the glass engine.

    The twin takes the leaves as tensors of the engine, in this order.
    """
    twins = [scratch.Tensor(leaf.detach().numpy()) for leaf in leaves]
    wanted = _flat_twin(twin(*twins))
    values = flat(got)
    errors = [_worst(value.detach(), torch.as_tensor(other.value)) for value, other in zip(values, wanted, strict=True)]
    for value, other in zip(values, wanted, strict=True):
        other.backward(cotangent(value).numpy())
    for leaf, gradient, other in zip(leaves, gradients(got, leaves), twins, strict=True):
        by_twin = torch.zeros_like(leaf) if other.grad is None else torch.as_tensor(other.grad)
        errors.append(_worst(gradient, by_twin))
    return max(errors)


def gradients(values: Any, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The gradient by each leaf of the values, each entry weighted differently, so that no two mistakes cancel."""
    outputs = [value for value in flat(values) if value.requires_grad]
    if not outputs:
        return [torch.zeros_like(leaf) for leaf in leaves]
    weights = [cotangent(value) for value in outputs]
    found = torch.autograd.grad(outputs, list(leaves), weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def cotangent(value: Tensor) -> Tensor:
    return torch.cos(torch.arange(value.numel(), dtype=torch.float64)).reshape(value.shape)


def _flat_twin(values: Any) -> list[scratch.Tensor]:
    return [values] if isinstance(values, scratch.Tensor) else [t for value in values for t in _flat_twin(value)]


def _worst(got: Tensor, wanted: Tensor) -> float:
    if got.shape != wanted.shape:
        raise AssertionError(f"shape {tuple(got.shape)} instead of {tuple(wanted.shape)}")
    apart = torch.where(got == wanted, 0.0, (got - wanted).abs().to(torch.float64))  # equal infinities are equal
    finite: Iterable[Tensor] = wanted[wanted.isfinite()]
    scale = max((float(x.abs()) for x in finite), default=0.0)
    return _number(apart.max() / max(scale, FLOOR)) if apart.numel() else 0.0


def _number(error: Tensor) -> float:
    """Infinity for NaN, which Python's `max` would lose on the way."""
    return inf if error.isnan() else float(error)
