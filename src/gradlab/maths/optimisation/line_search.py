"""How far to go in a direction: far enough for a real descent, and to where the slope has become less steep."""

import torch
from torch import Tensor

from gradlab.maths.optimisation.path import Ask, Seen

_DESCENT, _SLOPE = 1e-4, 0.9  # c₁ and c₂ as usual for quasi-Newton methods
_TRIES = 60


def wolfe(ask: Ask, here: Seen, direction: Tensor, first: float = 1.0) -> Seen | None:
    r"""A point x + αd with both conditions of Wolfe, by bisection from α = `first`. None if nothing lower is found.

    $$ f(x + \alpha d) \le f(x) + c_1 \alpha \, d^\top \nabla f(x), \qquad
       d^\top \nabla f(x + \alpha d) \ge c_2 \, d^\top \nabla f(x) $$

    The second makes sᵀy positive, which the BFGS update needs. Too long a step halves the bracket from above, too short
    a one from below; as long as there is no upper end, the step doubles (Lewis & Overton 2013,
    doi:10.1007/s10107-012-0514-2).

    >>> def parabola(x):
    ...     return Seen(x, (x**2).sum(), 2 * x)
    >>> wolfe(parabola, parabola(torch.tensor([1.0])), torch.tensor([-2.0])).x
    tensor([0.])
    """
    slope = here.gradient @ direction
    if not slope < 0:
        return None
    lower: Seen | None = None
    low, high, length = 0.0, torch.inf, first
    for _ in range(_TRIES):
        there = ask(here.x + length * direction)
        if torch.equal(there.x, here.x):  # so short a step is no step
            break
        if not there.value <= here.value + _DESCENT * length * slope:
            high = length
        elif there.gradient @ direction < _SLOPE * slope:
            low, lower = length, there
        else:
            return there
        length = (low + high) / 2 if high < torch.inf else 2 * low
    return lower  # rounding hides any further descent
