"""BFGS: Newton's method with an inverse Hessian that is learned from differences of gradients."""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.maths.optimisation.line_search import wolfe
from gradlab.maths.optimisation.path import Ask, Objective, Path, Seen, look, start_of


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
    curvature = change @ step
    if not curvature > torch.finfo(step.dtype).eps * change.norm() * step.norm():  # less is rounding
        return inverse
    rho, seen = 1 / curvature, inverse @ change
    # Multiplied out it is H + s uᵀ + u sᵀ, which takes d² operations instead of d³.
    u = (rho + rho**2 * (change @ seen)) / 2 * step - rho * seen
    product = torch.outer(step, u)
    return inverse + (product + product.T)


def bfgs_step(ask: Ask, here: Seen, inverse: Tensor | None = None, first: float = 1.0) -> tuple[Seen, Tensor] | None:
    r"""The point after this one, and the inverse Hessian with what the step has taught; None if nothing lower is found.

    $$ \theta \leftarrow \theta - \alpha \, H \, \nabla f(\theta) $$

    α is searched for from `first` on. The first direction is that of the gradient; its step brings H = I to the scale
    of the curvature (Nocedal & Wright 2006, equation 6.20).
    """
    direction = -here.gradient if inverse is None else -inverse @ here.gradient
    there = wolfe(ask, here, direction, first)
    if there is None:
        return None
    step, change = there.x - here.x, there.gradient - here.gradient
    if inverse is None:
        scale = (change @ step) / (change @ change)
        identity = torch.eye(len(step), dtype=step.dtype, device=step.device)
        inverse = identity * scale if scale > 0 else identity
    return there, bfgs_update(inverse, step, change)


def bfgs(f: Objective, x0: Any, steps: int = 100, tolerance: float = 1e-8) -> tuple[Path, Float[Tensor, "d d"]]:
    """The path to a minimum, and the inverse Hessian that was learned on the way.

    It ends where no entry of the gradient is larger than `tolerance`.

    >>> path, inverse = bfgs(lambda x: (x[0] - 1) ** 2 + 2 * (x[0] - x[1]) ** 2, [5.0, -3.0])
    >>> path.lowest.round(decimals=6).tolist()
    [1.0, 1.0]
    """
    seen, inverse = [look(f, start_of(x0))], None
    while len(seen) <= steps and seen[-1].gradient.abs().max() > tolerance:
        step = bfgs_step(partial(look, f), seen[-1], inverse)
        if step is None:
            break
        there, inverse = step
        seen.append(there)
    return Path.of(seen), torch.eye(len(seen[0].x), dtype=seen[0].x.dtype) if inverse is None else inverse
