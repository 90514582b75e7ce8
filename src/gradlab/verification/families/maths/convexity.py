"""What is known of convex functions and sets, and of the search for what is not convex."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gradlab.maths import convexity as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

for _function in (
    ours.convexity_counterexample,
    ours.set_counterexample,
    ours.below_set,
    ours.jensen_gap,
    ours.smallest_curvature,
    ours.local_minima,
):
    subject(f"maths.{_function.__name__}")(_function)

Function = Callable[[Tensor], Tensor]


def _convex(case: Case, *, smooth: bool = False) -> tuple[Function, Tensor]:
    """A convex function of points, and points around."""
    dim = case.integer("dim", 1, 3)
    slopes, offsets = case.tensor("slopes", 4, dim).detach(), case.tensor("offsets", 4).detach()
    kinds = ("log of a sum of exponentials", "square") if smooth else ("largest of lines", "norm", "square")
    kind = case.choice("f", kinds)
    points = torch.randn(200, dim, generator=case.generator("points"), dtype=torch.float64)
    functions: dict[str, Function] = {
        "log of a sum of exponentials": lambda x: (x @ slopes.T + offsets).logsumexp(-1) + 0.05 * x.square().sum(-1),
        "largest of lines": lambda x: (x @ slopes.T + offsets).amax(-1),
        "norm": lambda x: (x - slopes[0]).norm(dim=-1),
        "square": lambda x: (x - slopes[0]).square().sum(-1) + x @ slopes[1],
    }
    return functions[kind], points


BENT: dict[str, Function] = {
    "√|x|": lambda x: x.norm(dim=-1).sqrt(),
    "-x²": lambda x: -x.square().sum(-1),
    "sin": lambda x: (3 * x).sin().sum(-1),
    "a small dent": lambda x: x.square().sum(-1) + 0.05 * torch.exp(-((x[:, 0] - 0.3) ** 2) / 0.002),
}
"""None of them convex."""


def _turned_round(function: Function, points: Tensor) -> ours.Counterexample | None:
    return ours.convexity_counterexample(lambda x: -function(x), points)


def _strict(function: Function, points: Tensor) -> ours.Counterexample | None:
    """As with > for ≥: where both are equal, that is taken for a violation."""
    a, b = points[:2]
    return ours.convexity_counterexample(function, points) or ours.Counterexample(a, b, 1.0, a, 0.0)


@law("maths.convexity_counterexample", id="convex-function", fault=[_turned_round, _strict], most_cases=20)
def a_convex_function_has_none_and_others_have_one(case: Case) -> float:
    """f(λa + (1-λ)b) ≤ λf(a) + (1-λ)f(b) for all a, b, λ if f is convex; else some a, b, λ show that it is not"""
    look = case.build()
    convex, points = _convex(case)
    bent = BENT[case.choice("bent", tuple(BENT))]
    shown = look(bent, points)
    if shown is None:
        return 1.0
    mix = shown.share * shown.a + (1 - shown.share) * shown.b
    ends = bent(torch.stack([shown.a, shown.b]))
    above = bent(mix[None])[0] - shown.share * ends[0] - (1 - shown.share) * ends[1]
    wrong = float(look(convex, points) is not None) + float(not above > 0)
    return max(wrong, difference((shown.mix, above), (mix, above.new_tensor(shown.excess))))


# Sets


def _ends_alone(contains: Callable[[Tensor], Tensor], points: Tensor) -> None:
    """Looks at points of the set, and at none between them."""
    assert contains(points).any()


def _any_point(contains: Callable[[Tensor], Tensor], points: Tensor) -> ours.Counterexample | None:
    """As if points were of the set that are not."""
    return ours.set_counterexample(lambda x: torch.ones_like(contains(x)), points) or (
        ours.Counterexample(points[0], points[1], 0.5, points[0], math.inf)
    )


@law("maths.set_counterexample", id="convex-set", fault=[_ends_alone, _any_point], most_cases=20)
def subspaces_and_intersections_of_convex_sets_are_convex(case: Case) -> float:
    """λa + (1-λ)b ∈ S for a, b ∈ S, if S is a subspace, a ball, a half-space or what both share; not for a ring"""
    look = case.build()
    points = torch.randn(400, 2, generator=case.generator("points"), dtype=torch.float64)
    normal = case.tensor("normal", 2, away_from=(0.0,)).detach()
    along = torch.stack([-normal[1], normal[0]]) / normal.norm()
    sets: dict[str, Callable[[Tensor], Tensor]] = {
        "ball": lambda x: x.norm(dim=-1) <= 1,
        "half-space": lambda x: x @ normal <= 0.3,
        "both": lambda x: (x.norm(dim=-1) <= 1) & (x @ normal <= 0.3),
        "subspace": lambda x: (x @ normal).abs() <= 1e-9,
    }
    points = torch.cat([points, points[:, :1] * along, torch.zeros(2, 2, dtype=torch.float64)])
    convex = look(sets[case.choice("S", tuple(sets))], points)
    ring = look(lambda x: (x.norm(dim=-1) - 1).abs() <= 0.3, points)
    if ring is None:
        return 1.0
    outside = bool((ring.mix.norm() - 1).abs() > 0.3)
    return float(convex is not None) + float(not outside)


def _above(function: Function, level: float) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x) >= level


@law("maths.below_set", id="below-sets", fault=_above, most_cases=20)
def what_lies_below_a_level_of_a_convex_function_is_convex(case: Case) -> float:
    """{x : f(x) ≤ b} is convex for convex f; but also for √|x|, which is not convex, and not for -x²"""
    (convex, points), below = _convex(case), case.build()
    level = convex(points).quantile(0.6).item()
    got = ours.set_counterexample(below(convex, level), points)
    root = ours.set_counterexample(below(BENT["√|x|"], 1.0), points)
    square = ours.set_counterexample(below(BENT["-x²"], -0.5), points)
    wrong = float(got is not None) + float(root is not None) + float(square is None)
    return wrong + float(ours.convexity_counterexample(BENT["√|x|"], points) is None)


# Means


def _shares_less_the_last(function: Function, points: Tensor, weights: Tensor) -> Tensor:
    """As in a step of the induction with the wrong factor: the weights do not add up to 1."""
    weights = torch.cat([weights[..., :-1], 0.5 * weights[..., -1:]], -1)
    return weights @ function(points) - function(weights @ points)


def _turned(function: Function, points: Tensor, weights: Tensor) -> Tensor:
    return -ours.jensen_gap(function, points, weights)


@law("maths.jensen_gap", id="jensen", fault=[_shares_less_the_last, _turned])
def the_mean_of_values_is_not_below_the_value_of_the_mean(case: Case) -> float:
    """Σ αᵢ f(xᵢ) ≥ f(Σ αᵢ xᵢ) for convex f and any number of points, = for f(x) = w·x + c"""
    (convex, points), number = _convex(case), case.integer("points", 1, 6)
    weights, slope = case.distribution("α", 3, number).detach(), case.tensor("w", points.shape[1]).detach()
    gap = case.build()
    line = gap(lambda x: x @ slope + 0.7, points[:number], weights)
    return max(excess(-gap(convex, points[:number], weights), 0.0), float(line.abs().max()))


def _logarithm(function: Function, points: Tensor, weights: Tensor) -> Tensor:
    return function(weights @ points) - weights @ function(points)


@law("maths.jensen_gap", id="jensen-latent-likelihood", fault=_logarithm)
def what_is_hidden_costs_more_than_when_it_is_averaged_over(case: Case) -> float:
    """E_Y[-log P(X|Y)] - (-log P(X)) ≥ 0, and is Σ_y P(y) log(P(x) / P(x|y))"""
    hidden = case.integer("hidden", 1, 5)
    shares, given = case.distribution("P(Y)", hidden).detach(), case.positive("P(X|Y)", hidden, low=0.01, high=1.0)
    given = given.detach()
    got = case.build()(lambda p: -p[..., 0].log(), given[:, None], shares)
    marginal = (shares * given).sum()
    return max(excess(-got, 0.0), difference(got, (shares * (marginal / given).log()).sum()))


# Curvature and minima


def _mean_curvature(function: Function, points: Tensor) -> Tensor:
    """The mean of the eigenvalues, which a direction of negative curvature may leave positive."""
    hessian = torch.func.jacrev(torch.func.jacrev(lambda x: function(x[None])[0]))
    return torch.stack([hessian(x).trace() / len(x) for x in points])


@law("maths.smallest_curvature", id="convex-function", fault=_mean_curvature, most_cases=20)
def a_function_with_two_derivatives_is_convex_where_its_hessian_has_no_negative_eigenvalue(case: Case) -> float:
    """λ_min(∇²f(x)) ≥ 0 everywhere for convex f; and it is min(2a, 2b) for f(x, y) = ax² + by²"""
    (convex, points), curvature = _convex(case, smooth=True), case.build()
    a, b = case.real("a", -2, 2), case.real("b", -2, 2)
    saddle = curvature(lambda x: a * x[:, 0] ** 2 + b * x[:, 1] ** 2, points.new_zeros(1, 2))
    lowest = excess(-curvature(convex, points[:5]), 0.0)
    return max(lowest, difference(saddle, saddle.new_tensor([2 * min(a, b)])))


def _no_descent(function: Function, starts: Tensor) -> tuple[Tensor, Tensor]:
    return starts, function(starts)


def _a_step(function: Function, starts: Tensor) -> tuple[Tensor, Tensor]:
    points = starts.clone().requires_grad_()
    (slope,) = torch.autograd.grad(function(points).sum(), points)
    ends = starts - 0.1 * slope
    return ends, function(ends)


@law("maths.local_minima", id="local-is-global", fault=[_no_descent, _a_step], most_cases=15, tolerance=1e-6)
def every_descent_on_a_convex_function_ends_equally_low(case: Case) -> float:
    """f(x*) ≤ f(x) for all x, wherever the descent to x* began, if f is convex"""
    function, points = _convex(case, smooth=True)
    ends, heights = case.build()(function, points[:4])
    spread = float((heights - heights.min()).max())
    around = ends[:, None] + 0.5 * points
    return max(spread, excess(heights.max(), function(torch.cat([points, around.flatten(0, 1)])).min()))


@peer("maths.smallest_curvature", "numpy.linalg.eigvalsh of central differences", tolerance=1e-4, most_cases=10)
def curvature_by_differences(case: Case) -> float:
    import numpy as np

    function, points = _convex(case, smooth=True)
    x, step = points[0], 1e-4
    units: Any = step * torch.eye(len(x), dtype=torch.float64)

    def at(*moves: Tensor) -> float:
        return float(function(sum(moves, x)[None])[0])

    hessian = [
        [(at(a, b) - at(a, -b) - at(-a, b) + at(-a, -b)) / (4 * step**2) for b in units.unbind()]
        for a in units.unbind()
    ]
    wanted = torch.from_numpy(np.linalg.eigvalsh(np.array(hessian))[:1])
    return difference(case.build()(function, points[:1]), wanted)
