"""Whether functions and sets are convex, with two points and a mix of them that show it where they are not."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.maths.information.checking import distribution
from gradlab.maths.optimisation.minimise import minimise

Points = Float[Tensor, "points dim"]
Function = Callable[[Points], Float[Tensor, " points"]]
Contains = Callable[[Points], Bool[Tensor, " points"]]

_ROUNDING = 1e-10  # of the largest value: differences below it are no counterexample
_CLOSEST = 1e-3  # of how far two points are apart, at the least


class Counterexample(NamedTuple):
    """Two points, and a mix λa + (1 - λ)b of them at which convexity fails."""

    a: Tensor
    b: Tensor
    share: float
    """λ"""

    mix: Tensor
    excess: float
    """By how much the function lies above the line between its ends; of a set, infinity."""


def convexity_counterexample(
    function: Function, points: Points, *, pairs: int = 20_000, seed: int = 0
) -> Counterexample | None:
    r"""The worst violation of convexity among random pairs of points of a convex set, or None.

    $$ f(\lambda a + (1 - \lambda) b) \le \lambda f(a) + (1 - \lambda) f(b) $$

    `points` are some of the set, which should cover it. Half of the pairs are two of them, and half lie close to each
    other between two, down to a thousandth of the way, so that a small dent is seen too. None is no proof.

    >>> worst = convexity_counterexample(lambda x: x.square().sum(-1).sqrt().sqrt(), torch.linspace(-1, 1, 9)[:, None])
    >>> worst is not None and worst.excess > 0.2
    True
    """
    a, b, share = _pairs(tensor(points), pairs, seed)
    mix = share * a + (1 - share) * b
    ends = function(a), function(b)
    level = share[:, 0] * ends[0] + (1 - share[:, 0]) * ends[1]
    above = (value := function(mix)) - level
    scale = torch.stack([*ends, value]).abs().nan_to_num(0.0, 0.0).max()
    worst = int(above.nan_to_num(-math.inf).argmax())
    if not above[worst] > _ROUNDING * (1 + scale):
        return None
    return Counterexample(a[worst], b[worst], share[worst].item(), mix[worst], above[worst].item())


def set_counterexample(
    contains: Contains, points: Points, *, pairs: int = 20_000, seed: int = 0
) -> Counterexample | None:
    r"""Two points of a set with one between them that is not in it, or None where there is none among many pairs.

    $$ a, b \in S \;\Rightarrow\; \lambda a + (1 - \lambda) b \in S $$

    >>> ring = set_counterexample(lambda x: (x.norm(dim=-1) - 1).abs() < 0.5, torch.rand(200, 2) * 4 - 2)
    >>> ring is not None and bool((ring.mix.norm() - 1).abs() > 0.5)
    True
    """
    points = tensor(points)
    inside = points[contains(points)]
    if len(inside) < 2:
        raise GradlabError(f"set_counterexample needs at least two points of the set, and {len(inside)} are in it.")
    a, b, share = _pairs(inside, pairs, seed)
    mix = share * a + (1 - share) * b
    outside = contains(a) & contains(b) & ~contains(mix)
    if not bool(outside.any()):
        return None
    first = int(outside.nonzero()[0])
    return Counterexample(a[first], b[first], share[first].item(), mix[first], math.inf)


def _pairs(points: Points, pairs: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    if points.ndim != 2 or len(points) < 2:
        raise GradlabError(f"Points are rows, at least two of them, got the shape {tuple(points.shape)}.")
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randint(len(points), (2, pairs), generator=generator)
    start, share, reach = torch.rand(3, pairs, 1, generator=generator, dtype=points.dtype)
    reach = _CLOSEST**reach  # of the way, evenly over all scales
    reach[::2] = 1.0
    a, b = points[first], points[second]
    low = start * (1 - reach)
    return a + low * (b - a), a + (low + reach) * (b - a), share


def below_set(function: Function, level: float) -> Contains:
    r"""Whether points are where the function is at most so high.

    $$ S_b = \{ x : f(x) \le b \} $$

    Convex for a convex f; but √|x| has convex ones too.

    >>> below_set(lambda x: x.square().sum(-1), 1.0)(torch.tensor([[0.5], [2.0]]))
    tensor([ True, False])
    """
    return lambda points: function(points) <= level


def jensen_gap(
    function: Function, points: Float[Tensor, "points dim"], weights: Float[Tensor, "*batch points"]
) -> Float[Tensor, "*batch"]:
    r"""How far the mean of values is above the value of the mean, which it never is below for a convex function.

    $$ \sum_i \alpha_i f(x_i) - f \left( \sum_i \alpha_i x_i \right), \qquad
       \alpha_i \ge 0, \quad \sum_i \alpha_i = 1 $$

    >>> jensen_gap(lambda x: x.square().sum(-1), torch.tensor([[-1.0], [1.0]]), torch.tensor([0.5, 0.5]))
    tensor(1.)
    """
    points, weights = tensor(points), distribution(weights, "weights")
    if weights.shape[-1] != len(points):
        raise GradlabError(f"jensen_gap: there are {len(points)} points and {weights.shape[-1]} weights.")
    return weights @ function(points) - function(weights @ points)


def smallest_curvature(function: Function, points: Points) -> Float[Tensor, " points"]:
    r"""The smallest eigenvalue of the Hessian at each point: nowhere below 0 if, and only if, the function is convex.

    $$ f \text{ convex} \iff \nabla^2 f(x) \succeq 0 \text{ for all } x $$

    That is for functions with two derivatives, on an open convex set.

    >>> smallest_curvature(lambda x: x[:, 0] ** 2 - x[:, 1] ** 2, torch.zeros(1, 2))
    tensor([-2.])
    """
    hessian = torch.func.jacrev(torch.func.jacrev(lambda x: function(x[None])[0]))
    curvatures: Tensor = torch.linalg.eigvalsh(torch.func.vmap(hessian)(tensor(points)))
    return curvatures[:, 0]


def local_minima(function: Function, starts: Points) -> tuple[Points, Float[Tensor, " points"]]:
    """Where descent ends from each of the starts, and how high it is there: for a convex function the same everywhere.

    By BFGS, whose first step may lead out of a narrow valley: start near what is looked for.

    >>> _, heights = local_minima(lambda x: (x**4 - x**2 + 0.2 * x).sum(-1), torch.tensor([[-0.7], [0.6]]).double())
    >>> heights
    tensor([-0.3961, -0.1140], dtype=torch.float64)
    """
    ends = [
        minimise(lambda x: function(x[None])[0], start, steps=1000, tolerance=1e-9).lowest for start in tensor(starts)
    ]
    return torch.stack(ends), function(torch.stack(ends)).detach()
