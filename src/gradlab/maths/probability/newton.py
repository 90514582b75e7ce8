"""Newton's method for a convex function: what fits likelihoods here."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from gradlab.errors import GradlabError

Function = Callable[[Tensor], Tensor]
Derivatives = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Gradient (n) and Hessian (n, n) at a point (n)."""

_ITERATIONS = 100
_SHORTEST = 2.0**-60
_ROUNDING = 1e-13


class Minimum(NamedTuple):
    """Where a function is least, and the points on the way there, the first and the last among them."""

    point: Tensor
    path: list[Tensor]


def by_autograd(function: Function) -> Derivatives:
    """Of any function of a vector that torch can differentiate twice."""

    def derivatives(x: Tensor) -> tuple[Tensor, Tensor]:
        gradient = torch.autograd.functional.jacobian(function, x)  # type: ignore[no-untyped-call]
        return gradient, torch.autograd.functional.hessian(function, x)  # type: ignore[no-untyped-call]

    return derivatives


def newton(function: Function, start: Tensor, derivatives: Derivatives | None = None) -> Minimum:
    r"""The minimum of a convex function, by steps that are halved until they go down far enough.

    $$ x \leftarrow x - t \, H(x)^{-1} g(x), \qquad t = 1, \tfrac{1}{2}, \tfrac{1}{4}, \dots $$

    Outside of its domain the function may be NaN or infinite. It ends when rounding leaves nothing to gain.

    >>> newton(lambda x: x.exp().sum() - 3 * x.sum(), torch.zeros(1, dtype=torch.float64)).point.exp()
    tensor([3.0000], dtype=torch.float64)
    """
    derivatives = derivatives or by_autograd(function)
    path, value = [start.detach()], function(start.detach())
    if not bool(value.isfinite()):
        raise GradlabError("newton: the function is not finite where it starts. Start elsewhere.")
    for _ in range(_ITERATIONS):
        x = path[-1]
        gradient, hessian = derivatives(x)
        step, failed = torch.linalg.solve_ex(hessian, gradient)
        gain = float(gradient @ step)
        if bool(failed) or not gain > 0:  # nothing is left to gain, or no curvature that would say how far to go
            break
        t, after = 1.0, function(x - step)
        if gain > _ROUNDING * (1 + abs(float(value))):  # else values no longer tell which point is lower
            while not float(after) <= float(value) - 1e-4 * t * gain and t > _SHORTEST:
                t /= 2
                after = function(x - t * step)
            if not float(after) <= float(value):
                break
        path.append(x - t * step)
        value = after
        if float(step.abs().max()) <= _ROUNDING * (1 + float(x.abs().max())):
            break
    return Minimum(path[-1], path)
