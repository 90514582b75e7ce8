"""Integrals over an interval, finite or not, of smooth functions: nodes and weights of Takahasi and Mori."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError

Function = Callable[[Tensor], Tensor]
Bound = float | Tensor

_HALF = math.pi / 2
_STEPS = 400  # to either side of the middle
_ENDS = {"finite": 3.1, "half": 4.3, "line": 4.6}  # where the nodes of float64 no longer add anything
_AGREE = 1e-6  # how far half of the nodes may be from all of them


def integrate(
    function: Function, low: Bound = -math.inf, high: Bound = math.inf, *, at: Sequence[Bound] = ()
) -> Float[Tensor, "*batch"]:
    r"""The integral from `low` to `high`, by the trapezoidal rule after a change of variable.

    $$ \int f(x) \, dx \approx h \sum_k f(x(t_k)) \, x'(t_k), \qquad
       x(t) = \tanh \left( \tfrac{\pi}{2} \sinh t \right), \quad t_k = k h $$

    That x is for -1 to 1; for half a line it is an exponential in place of the tangent, and for a whole one the sine.
    Towards the ends nodes become so dense that a singularity there does no harm, and each digit costs only a few of
    them. A jump, a kink or a narrow peak within is another matter: all nodes and every second of them do not agree,
    and it is told. `at` has such points, in rising order, at which the interval is cut. Takahasi & Mori 1974,
    doi:10.2977/prims/1195192451.

    `function` takes a tensor of points and has a value for each; axes before the last are many integrals at once.

    >>> integrate(lambda x: (-x.square()).exp()) ** 2
    tensor(3.1416, dtype=torch.float64)
    """
    ends = [torch.as_tensor(bound, dtype=torch.float64) for bound in (low, *at, high)]
    return torch.stack([_between(function, *pair) for pair in pairwise(ends)]).sum(0)


def _between(function: Function, low: Tensor, high: Tensor) -> Tensor:
    x, weights = _nodes(low, high)
    terms = function(x) * weights
    integral, coarse = terms.sum(-1), 2 * terms[..., ::2].sum(-1)
    apart = ((integral - coarse).abs() - _AGREE * (1 + integral.abs())).detach()
    if bool((integral.isfinite() & (apart > 0)).any() | integral.isnan().any()):
        raise GradlabError(
            f"The integral from {_bound(low)} to {_bound(high)} does not come out: {_bound(integral)} by all points, "
            f"{_bound(coarse)} by half of them. Say by at= where its jumps, kinks and narrow peaks are."
        )
    return integral


def _nodes(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    if not bool((low < high).all()):
        raise GradlabError(
            f"An integral goes from a lower to a higher bound, not from {_bound(low)} to {_bound(high)}."
        )
    below, above = bool(low.isinf().any()), bool(high.isinf().any())
    end = _ENDS["line" if below and above else "half" if below or above else "finite"]
    t = torch.linspace(-end, end, 2 * _STEPS + 1, dtype=torch.float64)
    inner, slope = _HALF * t.sinh(), _HALF * t.cosh() * (end / _STEPS)
    if below and above:
        return inner.sinh(), slope * inner.cosh()
    if above:
        return low[..., None] + inner.exp(), slope * inner.exp()
    if below:
        return high[..., None] - inner.exp(), slope * inner.exp()
    middle, half = ((high + low) / 2)[..., None], ((high - low) / 2)[..., None]
    return middle + half * inner.tanh(), half * slope / inner.cosh() ** 2


def _bound(value: Tensor) -> str:
    numbers = value.detach().flatten()
    return f"{numbers[0].item():.6g}" if len(numbers) else "nothing"
