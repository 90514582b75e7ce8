"""How far to go in a direction: far enough for a real descent, and to where the slope has become less steep."""

import torch
from torch import Tensor

from gradlab.maths.optimisation.path import Objective, value_and_gradient

_DESCENT, _SLOPE = 1e-4, 0.9  # c₁ and c₂ as usual for quasi-Newton methods
_TRIES = 60


def wolfe(f: Objective, x: Tensor, direction: Tensor) -> float:
    r"""A step length with both conditions of Wolfe, by bisection. Of a direction that does not descend, 0.

    $$ f(x + \alpha d) \le f(x) + c_1 \alpha \, d^\top \nabla f(x), \qquad
       d^\top \nabla f(x + \alpha d) \ge c_2 \, d^\top \nabla f(x) $$

    The second makes sᵀy positive, which the BFGS update needs. Too long a step halves the bracket from above, too short
    a one from below; as long as there is no upper end, the step doubles (Lewis & Overton 2013,
    doi:10.1007/s10107-012-0514-2).

    >>> wolfe(lambda x: (x**2).sum(), torch.tensor([1.0]), torch.tensor([-2.0]))
    0.5
    """
    value, gradient = value_and_gradient(f, x)
    slope = gradient @ direction
    if not slope < 0:
        return 0.0
    low, high, length = 0.0, torch.inf, 1.0
    for _ in range(_TRIES):
        there, gradient = value_and_gradient(f, x + length * direction)
        if not there <= value + _DESCENT * length * slope:
            high = length
        elif gradient @ direction < _SLOPE * slope:
            low = length
        else:
            return length
        length = (low + high) / 2 if high < torch.inf else 2 * low
    return low  # rounding hides any further descent
