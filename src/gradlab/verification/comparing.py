"""How far two computations are apart: the worst difference, relative to the largest entry of what is wanted."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor

from gradlab import scratch

FLOOR = 1e-3  # what is smaller than this everywhere is compared as if its largest entry were this large


def difference(got: Any, wanted: Any, leaves: Sequence[Tensor] = ()) -> float:
    """The worst error of a tensor, or of several in tuples; and of the gradients by the leaves, where both have any.

    >>> difference(torch.tensor([1.0, 4.1]), torch.tensor([1.0, 4.0])) < 0.026
    True
    """
    errors = [_worst(a.detach(), b.detach()) for a, b in zip(flat(got), flat(wanted), strict=True)]
    if leaves and any(value.requires_grad for value in flat(wanted)):
        errors += [_worst(a, b) for a, b in zip(gradients(got, leaves), gradients(wanted, leaves), strict=True)]
    return max(errors)


def excess(smaller: Tensor, larger: Tensor | float) -> float:
    """By how much the first is larger where it should not be: 0 when the inequality holds everywhere."""
    return max(0.0, _number((smaller - larger).detach().max()))


def flat(values: Any) -> list[Tensor]:
    """The tensors in nested tuples, in order."""
    return [values] if isinstance(values, Tensor) else [t for value in values for t in flat(value)]


def twin_difference(got: Any, twin: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """The worst error of a value and its gradients, beside those of a function of the glass engine.

    The twin takes these arguments, tensors with a gradient as tensors of the engine and others as arrays.
    """
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
    twins = {id(leaf): scratch.Tensor(leaf.detach().numpy()) for leaf in leaves}
    wanted = _flat_twin(twin(*(twins.get(id(x), _array(x)) for x in arguments), **options))
    errors = []
    for value, other in zip(flat(got), wanted, strict=True):
        errors.append(_worst(value.detach(), torch.as_tensor(getattr(other, "value", other), dtype=value.dtype)))
        if isinstance(other, scratch.Tensor):
            other.backward(cotangent(value).numpy())
    for leaf, gradient in zip(leaves, gradients(got, leaves), strict=True):
        by_twin = twins[id(leaf)].grad
        errors.append(_worst(gradient, torch.zeros_like(leaf) if by_twin is None else torch.as_tensor(by_twin)))
    return max(errors)


def gradients(values: Any, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The gradient by each leaf of the values, each entry weighted differently, so that no two mistakes cancel."""
    outputs = [value for value in flat(values) if value.requires_grad]
    if not outputs or not leaves:
        return [torch.zeros_like(leaf) for leaf in leaves]
    weights = [cotangent(value) for value in outputs]
    results = torch.autograd.grad(outputs, list(leaves), weights, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(results, leaves, strict=True)]


def cotangent(value: Tensor) -> Tensor:
    return torch.cos(torch.arange(value.numel(), dtype=torch.float64)).reshape(value.shape)


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def _flat_twin(values: Any) -> list[Any]:
    return [t for value in values for t in _flat_twin(value)] if isinstance(values, tuple | list) else [values]


def _worst(got: Tensor, wanted: Tensor) -> float:
    if got.shape != wanted.shape:
        raise AssertionError(f"shape {tuple(got.shape)} instead of {tuple(wanted.shape)}")
    apart = torch.where(got == wanted, 0.0, (got - wanted).abs().to(torch.float64))  # equal infinities are equal
    sizes = wanted[wanted.isfinite()].abs()
    scale = max(float(sizes.max()), FLOOR) if sizes.numel() else FLOOR
    return _number(apart.max() / scale) if apart.numel() else 0.0


def _number(error: Tensor) -> float:
    """Infinity for NaN, which Python's `max` would lose on the way."""
    return inf if error.isnan() else float(error)
