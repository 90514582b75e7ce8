"""A piecewise-linear function of two variables that one hidden layer cannot be, and two can.

One hidden layer bends along whole lines: by crossing the line of a unit, the gradient changes by the same vector
wherever it is crossed. A function that bends along a part of a line alone, as every one that is 0 outside of a bounded
set and not 0 within does, is no such network.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.maths.arrays import takes_arrays
from gradlab.maths.expressiveness.layers import relu_layers

Field = Callable[[Tensor], Tensor]


@takes_arrays
def pyramid(points: Float[Tensor, "*batch 2"]) -> Float[Tensor, "*batch"]:
    r"""A pyramid of height 1 over a square that stands on its corner, and 0 around it.

    $$ f(x, y) = \max(0,\; 1 - |x| - |y|) $$

    >>> pyramid(torch.tensor([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])).tolist()
    [1.0, 0.25, 0.0]
    """
    return torch.relu(1 - points.abs().sum(-1))


def pyramid_network() -> nn.Sequential:
    r"""The pyramid with two hidden layers of 4 and 1 units, exactly.

    $$ f(x, y) = \mathrm{relu}(1 - \mathrm{relu}(x) - \mathrm{relu}(-x) - \mathrm{relu}(y) - \mathrm{relu}(-y)) $$

    >>> pyramid_network()(torch.tensor([[0.5, 0.25]], dtype=torch.float64)).item()
    0.25
    """
    one, eye = torch.ones(1, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    sides = torch.cat([eye, -eye]), torch.zeros(4, dtype=torch.float64)
    return relu_layers([sides, (-torch.ones(1, 4, dtype=torch.float64), one), (one[None], torch.zeros_like(one))])


def gradient_jump(
    f: Field, point: Float[Tensor, "*batch d"], normal: Float[Tensor, "*batch d"], step: float = 1e-6
) -> Float[Tensor, "*batch d"]:
    r"""By how much the gradient of a function changes where a line is crossed in the direction of its normal.

    $$ \nabla f(p + \varepsilon n) - \nabla f(p - \varepsilon n) $$

    Of a pyramid's edge it is 0 beyond the edge's end:

    >>> right = torch.tensor([1.0, 0.0], dtype=torch.float64)
    >>> [gradient_jump(pyramid, torch.tensor([0.0, y], dtype=torch.float64), right).tolist() for y in (0.5, 2.0)]
    [[-2.0, 0.0], [-0.0, 0.0]]
    """
    ahead, behind = ((point + side * step * normal).detach().requires_grad_() for side in (1, -1))
    slopes = [torch.autograd.grad(f(x).sum(), x)[0] for x in (ahead, behind)]
    return slopes[0] - slopes[1]
