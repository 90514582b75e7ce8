"""BFGS: Newton's method with an inverse Hessian that is learned from differences of gradients."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.maths.optimisation.line_search import wolfe
from gradlab.maths.optimisation.path import Objective, Path, start_of, value_and_gradient


def bfgs_update(
    inverse: Float[Tensor, "d d"], step: Float[Tensor, " d"], change: Float[Tensor, " d"]
) -> Float[Tensor, "d d"]:
    r"""The inverse Hessian after a step s over which the gradient has changed by y.

    $$ H \leftarrow (I - \rho \, s y^\top) \, H \, (I - \rho \, y s^\top) + \rho \, s s^\top, \qquad
       \rho = \frac{1}{y^\top s} $$

    Then H y = s, as it would be of the true one along s, and H stays symmetric; it stays positive definite if yᵀs > 0.
    Otherwise nothing is learned from the step.

    >>> bfgs_update(torch.eye(2), torch.tensor([1.0, 0.0]), torch.tensor([4.0, 0.0]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    if not change @ step > 0:
        return inverse
    rho = 1 / (change @ step)
    left = torch.eye(len(step), dtype=step.dtype) - rho * torch.outer(step, change)
    return left @ inverse @ left.T + rho * torch.outer(step, step)


def bfgs(f: Objective, x0: Any, steps: int = 100, tolerance: float = 1e-8) -> tuple[Path, Float[Tensor, "d d"]]:
    r"""The path to a minimum, and the inverse Hessian that was learned on the way.

    $$ \theta \leftarrow \theta - \alpha \, H \, \nabla f(\theta) $$

    It starts from H = I, brought to the scale of the first change (Nocedal & Wright 2006, equation 6.20), and ends
    where no entry of the gradient is larger than `tolerance`.

    >>> path, inverse = bfgs(lambda x: (x[0] - 1) ** 2 + 2 * (x[0] - x[1]) ** 2, [5.0, -3.0])
    >>> path.lowest.round(decimals=6).tolist()
    [1.0, 1.0]
    """
    x = start_of(x0)
    value, gradient = value_and_gradient(f, x)
    points, values, gradients = [x], [value], [gradient]
    inverse = torch.eye(len(x), dtype=x.dtype)
    for step in range(steps):
        if gradient.abs().max() <= tolerance:
            break
        direction = -inverse @ gradient
        length = wolfe(f, x, direction)
        if not length:
            break
        before, x = gradient, x + length * direction
        value, gradient = value_and_gradient(f, x)
        moved, change = length * direction, gradient - before
        if not step and change @ moved > 0:
            inverse = inverse * (change @ moved) / (change @ change)
        inverse = bfgs_update(inverse, moved, change)
        points.append(x)
        values.append(value)
        gradients.append(gradient)
    return Path.of(points, values, gradients), inverse
