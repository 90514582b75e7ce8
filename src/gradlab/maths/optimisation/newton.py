"""Newton's method: steps to the minimum of the parabola that touches the function."""

from typing import Any

import torch

from gradlab.maths.optimisation.line_search import wolfe
from gradlab.maths.optimisation.path import Objective, Path, start_of, value_and_gradient

_FLATTEST = 1e-8  # of the curvatures, relative to the largest


def newton(f: Objective, x0: Any, steps: int = 100, tolerance: float = 1e-8) -> Path:
    r"""Newton steps, as far along each as the line search says: near a minimum the whole way.

    $$ \theta \leftarrow \theta - \alpha \, |H|^{-1} \, \nabla f(\theta), \qquad H = \nabla^2 f(\theta) $$

    |H| has the eigenvectors of H and the sizes of its eigenvalues, so that a saddle is left and not sought.

    >>> newton(lambda x: (x**4).sum() + (x**2).sum(), [2.0, -1.0]).lowest.abs().max() < 1e-8
    tensor(True)
    """
    x = start_of(x0)
    points, values, gradients = [], [], []
    for step in range(steps + 1):
        value, gradient = value_and_gradient(f, x)
        points.append(x)
        values.append(value)
        gradients.append(gradient)
        if step == steps or gradient.abs().max() <= tolerance:
            break
        hessian = torch.autograd.functional.hessian(f, x)  # type: ignore[no-untyped-call]
        curvatures, axes = torch.linalg.eigh(hessian)
        sizes = curvatures.abs()
        sizes = sizes.clamp(min=max(float(sizes.max()) * _FLATTEST, 1e-300))
        direction = -axes @ (axes.T @ gradient / sizes)
        length = wolfe(f, x, direction)
        if not length:
            break
        x = x + length * direction
    return Path.of(points, values, gradients)
