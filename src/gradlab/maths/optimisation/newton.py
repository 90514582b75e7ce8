"""Newton's method: steps to the minimum of the parabola that touches the function."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.optimisation.path import Objective, Path, Seen, start_of

Derivatives: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Gradient (n) and Hessian (n, n) at a point (n)."""

_FLATTEST = 1e-8  # of the curvatures, relative to the largest, where some are not positive
_SHORTEST = 2.0**-60
_ROUNDING = 1e-13


def by_autograd(f: Objective) -> Derivatives:
    """Of any function of a vector that torch can differentiate twice."""

    def derivatives(x: Tensor) -> tuple[Tensor, Tensor]:
        gradient = torch.autograd.functional.jacobian(f, x)  # type: ignore[no-untyped-call]
        return gradient, torch.autograd.functional.hessian(f, x)  # type: ignore[no-untyped-call]

    return derivatives


def newton(
    f: Objective, x0: Any, steps: int = 100, tolerance: float = 1e-8, derivatives: Derivatives | None = None
) -> Path:
    r"""Newton steps, halved until they go down far enough: near a minimum the whole way.

    $$ \theta \leftarrow \theta - t \, |H|^{-1} \, \nabla f(\theta), \qquad H = \nabla^2 f(\theta), \quad
       t = 1, \tfrac{1}{2}, \tfrac{1}{4}, \dots $$

    |H| has the eigenvectors of H and the sizes of its eigenvalues, so that a saddle is left and not sought; of a convex
    function it is H. Outside of its domain f may be NaN or infinite. It ends where no entry of the gradient is larger
    than `tolerance`, and where rounding leaves nothing to gain.

    >>> newton(lambda x: (x**4).sum() + (x**2).sum(), [2.0, -1.0]).lowest.abs().max() < 1e-8
    tensor(True)
    """
    derivatives = derivatives or by_autograd(f)
    x = start_of(x0)
    value = f(x).detach()
    if value.ndim:
        raise GradlabError(f"The function must give one number, got shape {tuple(value.shape)}. Sum or average it.")
    if not bool(value.isfinite()):
        raise GradlabError("newton: the function is not finite where it starts. Start elsewhere.")
    seen: list[Seen] = []
    while True:
        gradient, hessian = derivatives(x)
        seen.append(Seen(x, value, gradient))
        if len(seen) > steps or gradient.abs().max() <= tolerance:
            break
        step = _step(gradient, hessian)
        t, after = _length(f, x, value, step, float(gradient @ step))
        if not t or float(step.abs().max()) <= _ROUNDING * (1 + float(x.abs().max())):
            break
        x, value = x - t * step, after
    return Path.of(seen)


def _step(gradient: Tensor, hessian: Tensor) -> Tensor:
    factor, failed = torch.linalg.cholesky_ex(hessian)
    if not bool(failed):
        return torch.cholesky_solve(gradient[:, None], factor)[:, 0]
    curvatures, axes = torch.linalg.eigh(hessian)
    sizes = curvatures.abs()
    sizes = sizes.clamp(min=max(float(sizes.max()) * _FLATTEST, 1e-300))
    step: Tensor = axes @ (axes.T @ gradient / sizes)
    return step


def _length(f: Objective, x: Tensor, value: Tensor, step: Tensor, gain: float) -> tuple[float, Tensor]:
    """How much of a step goes down far enough, and the value there; 0 if nothing of it does."""
    t, after = 1.0, f(x - step).detach()
    if not gain > _ROUNDING * (1 + abs(float(value))):  # values no longer tell which point is lower
        return t, after
    while not float(after) <= float(value) - 1e-4 * t * gain:
        t /= 2
        if t < _SHORTEST:
            return 0.0, value
        after = f(x - t * step).detach()
    return t, after
