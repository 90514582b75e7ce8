"""How far two computations are apart: the worst difference, relative to the largest entry of what is wanted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from gradlab import scratch
from gradlab.verification import rounding
from gradlab.verification.place import ROUNDINGS

EXACT = 1e-9  # of the largest entry, in float64
FLOOR = 1e-3  # what is smaller than this everywhere is compared as if its largest entry were this large
SIZE = 0.5  # the same where numbers are rounded, on whose way to a result are some of the size of 1


_through: ContextVar[float] = ContextVar("through", default=0.0)


@contextmanager
def through(dtype: torch.dtype) -> Iterator[None]:
    """Numbers of float64 are compared as if they were of this type, through which a module may go on its way."""
    before = _through.set(torch.finfo(dtype).eps)
    try:
        yield
    finally:
        _through.reset(before)


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
    """The worst error of a value and its gradients, beside those of a function of the NumPy engine.

    The twin takes these arguments, tensors with a gradient as tensors of the engine and others as arrays.
    """
    outputs, numbers = flat(got), [x for x in arguments if isinstance(x, Tensor) and x.is_floating_point()]
    leaves = [x for x in numbers if x.requires_grad]
    results = [x.detach().cpu() for x in (*outputs, *gradients(got, leaves))]
    run_twin = partial(_twin_results, outputs, twin, arguments, options)
    wanted = run_twin()
    size = max((torch.finfo(x.dtype).eps for x in numbers), default=0.0)
    size = max(size, _through.get())
    if size <= torch.finfo(torch.float64).eps:
        return _error_except_ties(results, wanted, run_twin, len(outputs))
    moved = run_twin(rounding.independent_rounding(size))
    sizes = [SIZE] * len(outputs) + [_slope(outputs, leaf) for leaf in leaves]
    scales = [
        max(_largest(b), least) + _largest(c - b) / size for b, c, least in zip(wanted, moved, sizes, strict=True)
    ]
    return max(_worst(*three) for three in zip(results, wanted, scales, strict=True))


def _error_except_ties(
    results: Sequence[Tensor], wanted: Sequence[Tensor], run_twin: Callable[..., list[Tensor]], outputs: int
) -> float:
    """The worst error; where a few roundings decide what the twin itself has, it may have been rounded otherwise."""
    error = _worst_of(results, wanted)
    if error <= EXACT or any(got.shape != expected.shape for got, expected in zip(results, wanted, strict=True)):
        return error
    size = ROUNDINGS * torch.finfo(torch.float64).eps
    tries = [run_twin(rounding.consistent_rounding(size, seed)) for seed in range(rounding.TRIES)]
    nearest = [rounding.nearest_alternative] * outputs + [rounding.nearest_in_range] * (len(results) - outputs)
    alternatives = zip(wanted, *tries, strict=True)
    allowed = [choose(got, each) for choose, got, each in zip(nearest, results, alternatives, strict=True)]
    return _worst_of(results, allowed)


def _worst_of(results: Sequence[Tensor], wanted: Sequence[Tensor]) -> float:
    return max(_worst(got, expected) for got, expected in zip(results, wanted, strict=True))


def _twin_results(
    outputs: Sequence[Tensor],
    twin: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    apply_rounding: rounding.Rounding = rounding.exact,
) -> list[Tensor]:
    """What the twin has for outputs and gradients, with each number on its way rounded so."""

    def begin(self: scratch.Tensor, value: Any, name: str = "", *, constant: bool = False) -> None:
        plain(self, value if constant else apply_rounding(np.asarray(value, np.float64)), name, constant=constant)

    plain = scratch.Tensor.__init__  # which every gate makes its result with
    with patch.object(scratch.Tensor, "__init__", begin):
        leaves = {id(x): scratch.Tensor(array(x)) for x in arguments if isinstance(x, Tensor) and x.requires_grad}
        values = (leaves[id(x)] if id(x) in leaves else apply_rounding(array(x)) for x in arguments)
        wanted = _flat_twin(twin(*values, **options))
    for output, result in zip(outputs, wanted, strict=True):
        _check_shape(output, np.shape(getattr(result, "value", result)))
        if isinstance(result, scratch.Tensor):
            result.backward(apply_rounding(array(cotangent(output))))
    values_of_twin = [getattr(result, "value", result) for result in wanted]
    nodes = [leaves[id(x)] for x in arguments if id(x) in leaves]
    slopes = [np.zeros(node.shape) if node.grad is None else node.grad for node in nodes]
    return [torch.as_tensor(x, device="cpu", dtype=torch.float64) for x in (*values_of_twin, *slopes)]


def _slope(outputs: Sequence[Tensor], leaf: Tensor) -> float:
    """How large the gradient is of a function that is proportional to the leaf: Σ |g y| / Σ |x|, since Σ g y = Σ x dx.

    What is rounded on the way to a gradient is of this size, also where little is left of it.
    """
    sizes = [y.detach().double().abs().clamp(min=SIZE) * cotangent(y).abs() for y in outputs if y.requires_grad]
    whole = sum(float(size.sum()) for size in sizes)
    return max(whole / max(float(leaf.detach().double().abs().sum()), FLOOR), FLOOR)


def _largest(values: Tensor) -> float:
    return float(values.abs().nan_to_num(0.0, 0.0).max()) if values.numel() else 0.0


def gradients(values: Any, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The gradient by each leaf of the values, each entry weighted differently, so that no two mistakes cancel."""
    outputs = [value for value in flat(values) if value.requires_grad]
    if not outputs or not leaves:
        return [torch.zeros_like(leaf) for leaf in leaves]
    weighted = torch.stack(
        [(cotangent(value) * value).sum().double() for value in outputs]
    ).sum()  # several with weights would import SymPy
    results = torch.autograd.grad(weighted, list(leaves), allow_unused=True, retain_graph=True)
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(results, leaves, strict=True)]


def cotangent(value: Tensor) -> Tensor:
    slopes = torch.cos(torch.arange(value.numel(), dtype=torch.float64, device="cpu")).reshape(value.shape)
    return slopes.to(value)


def array(value: Any) -> Any:
    """A tensor as the NumPy engine takes it: an array, in float64 if it is of real numbers."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach().cpu()
    return (value.double() if value.is_floating_point() else value).numpy()


def _flat_twin(values: Any) -> list[Any]:
    return [t for value in values for t in _flat_twin(value)] if isinstance(values, tuple | list) else [values]


def _worst(got: Tensor, wanted: Tensor, scale: float | None = None) -> float:
    _check_shape(got, wanted.shape)
    apart = torch.where(got == wanted, 0.0, (got - wanted).abs().to(torch.float64))  # equal infinities are equal
    if scale is None:
        sizes = wanted[wanted.isfinite()].abs()
        floor = SIZE if _through.get() else FLOOR
        scale = max(float(sizes.max()), floor) if sizes.numel() else floor
    return _number(apart.max() / scale) if apart.numel() else 0.0


def _check_shape(got: Tensor, wanted: Sequence[int]) -> None:
    if got.shape != tuple(wanted):
        raise AssertionError(f"shape {tuple(got.shape)} instead of {tuple(wanted)}")


def _number(error: Tensor) -> float:
    """Infinity for NaN, which Python's `max` would lose on the way."""
    return inf if error.isnan() else float(error)
