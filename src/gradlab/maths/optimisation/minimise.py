"""Minimisers of plain functions, all behind one call."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.optimisation.bfgs import bfgs
from gradlab.maths.optimisation.descent import gradient_descent, heavy_ball
from gradlab.maths.optimisation.newton import newton
from gradlab.maths.optimisation.path import Objective, Path, look, start_of

Method = Literal["gradient", "momentum", "newton", "bfgs", "lbfgs"]


def minimise(
    f: Objective,
    x0: Any,
    method: Method = "bfgs",
    *,
    steps: int = 100,
    rate: float = 0.01,
    momentum: float = 0.9,
    tolerance: float = 1e-8,
) -> Path:
    """Look for a minimum of a function of a vector from a start, and return the path with its values.

    `rate` is of gradient descent and momentum, which do all steps; the others search along each direction, and stop
    where no entry of the gradient is larger than `tolerance`.

    >>> rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> minimise(rosenbrock, [-1.0, 1.5]).lowest.round(decimals=6).tolist()
    [1.0, 1.0]
    """
    match method:
        case "gradient":
            return gradient_descent(f, x0, rate, steps)
        case "momentum":
            return heavy_ball(f, x0, rate, momentum, steps)
        case "newton":
            return newton(f, x0, steps, tolerance)
        case "bfgs":
            return bfgs(f, x0, steps, tolerance)[0]
        case "lbfgs":
            return _lbfgs(f, x0, steps, tolerance)
        case _:
            raise unknown("method", str(method), get_args(Method))


def argmin(
    f: Objective, starts: Iterable[Any], method: Method = "bfgs", tolerance: float = 1e-5, **options: Any
) -> Float[Tensor, "minimisers d"]:
    r"""The set of points with the least value among those that a minimiser finds from several starts.

    $$ \operatorname{argmin} f = \{ \theta : f(\theta) = \min f \} $$

    Points nearer to each other than `tolerance` are one, and so are values.

    >>> argmin(lambda x: (x[0] ** 2 - 1) ** 2, [[-3.0], [0.5], [2.0]]).round(decimals=4).tolist()
    [[-1.0], [1.0]]
    """
    ends = [minimise(f, start, method, **options).lowest for start in starts]
    if not ends:
        raise GradlabError("argmin needs at least one start.")
    values = torch.stack([look(f, x).value for x in ends])
    lowest: list[Tensor] = []
    for x, value in zip(ends, values, strict=True):
        if value <= values.min() + tolerance and all((x - y).norm() > tolerance for y in lowest):
            lowest.append(x)
    return torch.stack(sorted(lowest, key=torch.Tensor.tolist))


def _lbfgs(f: Objective, x0: Any, steps: int, tolerance: float) -> Path:
    """`torch.optim.LBFGS`, an iteration at a time."""
    x = start_of(x0).clone().requires_grad_()
    # Without `max_eval` the line search would be left after the first look, for the sake of a single iteration.
    options = {"max_iter": 1, "max_eval": 50, "tolerance_grad": 0.0, "tolerance_change": 0.0}
    search = torch.optim.LBFGS([x], **options, line_search_fn="strong_wolfe")  # type: ignore[arg-type]
    seen = [look(f, x.detach().clone())]

    def closure() -> Tensor:
        _, value, x.grad = look(f, x)
        return value

    while len(seen) <= steps and seen[-1].gradient.abs().max() > tolerance:
        search.step(closure)  # type: ignore[no-untyped-call]
        if torch.equal(x, seen[-1].x):
            break
        seen.append(look(f, x.detach().clone()))
    return Path.of(seen)
