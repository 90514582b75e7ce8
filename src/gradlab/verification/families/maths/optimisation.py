"""What is known of minimisers: rates, stability, curvature that is learned, and landscapes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.maths.optimisation import minimise
from gradlab.maths.optimisation.bfgs import bfgs, bfgs_update
from gradlab.maths.optimisation.descent import gradient_descent, heavy_ball, rate_bound, spectral_radius
from gradlab.maths.optimisation.landscape import loss_landscape, random_direction
from gradlab.maths.optimisation.newton import newton
from gradlab.maths.optimisation.path import Path
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

subject("maths.gradient_descent")(gradient_descent)
subject("maths.heavy_ball")(heavy_ball)
subject("maths.spectral_radius")(spectral_radius)
subject("maths.newton")(newton)
subject("maths.bfgs")(bfgs)
subject("maths.bfgs_update")(bfgs_update)
subject("maths.minimise")(minimise)
subject("maths.random_direction")(random_direction)

Objective = Callable[[Tensor], Tensor]


def _positive_definite(case: Case, name: str, d: int) -> Tensor:
    factor = case.tensor(name, d, d).detach()
    return factor @ factor.T + 0.1 * torch.eye(d, dtype=torch.float64)


def _convex(case: Case) -> tuple[Objective, Tensor, float]:
    """A convex function, a minimiser of it, and a Lipschitz constant of its gradient."""
    d = case.integer("d", 1, 4)
    kind = case.choice("function", ("quadratic", "Huber", "logistic"))
    if kind == "quadratic":
        matrix, centre = _positive_definite(case, "A", d), case.tensor("centre", d).detach()
        largest = float(torch.linalg.eigvalsh(matrix)[-1])
        return lambda x: 0.5 * (x - centre) @ matrix @ (x - centre), centre, largest
    if kind == "Huber":
        centre = case.tensor("centre", d).detach()
        return lambda x: F.huber_loss(x, centre, reduction="sum", delta=0.2), centre, 1.0
    inputs, labels = case.tensor("inputs", 8, d).detach(), case.mask("labels", 8).double()

    def logistic(x: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(inputs @ x, labels, reduction="sum") + 0.05 * x.square().sum()

    constant = float(torch.linalg.eigvalsh(inputs.T @ inputs)[-1]) / 4 + 0.1
    return logistic, newton(logistic, [0.0] * d).lowest, constant


def _ten_times_as_far(f: Objective, x0: Any, rate: float, steps: int = 100) -> Path:
    return gradient_descent(f, x0, 10 * rate, steps)


def _a_hundredth_as_far(f: Objective, x0: Any, rate: float, steps: int = 100) -> Path:
    return gradient_descent(f, x0, rate / 100, steps)


@law("maths.gradient_descent", fault=[_ten_times_as_far, _a_hundredth_as_far], id="gd-rate-convex", tolerance=1e-8)
def it_is_as_near_the_least_value_after_t_steps_as_its_rate_says(case: Case) -> float:
    """$f(\\theta_t) - \\min f \\le \\lVert\\theta_0 - \\theta^*\\rVert^2 / (2 \\eta t)$ for $\\eta \\le 1/L$"""
    f, minimiser, constant = _convex(case)
    rate, x0 = case.real("η L", 0.2, 1) / constant, 3 * case.tensor("θ₀", len(minimiser)).detach()
    path = case.build()(f, x0, rate, 40)
    above = path.values[1:] - f(minimiser)
    bound = rate_bound(x0, minimiser, rate, torch.arange(1, 41))
    return max(0.0, float((above - bound).nan_to_num(torch.inf).max()))


@law("maths.gradient_descent", fault=lambda f, x0, rate, steps: heavy_ball(f, x0, rate, 0.9, steps))
def on_a_parabola_it_arrives_below_two_over_the_curvature_and_leaves_above(case: Case) -> float:
    """$\\theta_t = (1 - \\eta L)^t \\theta_0$: nearer for $\\eta < 2/L$, as far at $2/L$, and farther beyond"""
    constant, share, steps = case.real("L", 0.1, 10), case.real("η L", 0.1, 4), case.integer("steps", 1, 12)
    path = case.build()(lambda x: constant / 2 * x.square().sum(), [1.0], share / constant, steps)
    return difference(path.points[:, 0], (1 - share) ** torch.arange(steps + 1, dtype=torch.float64))


@peer("maths.heavy_ball", "torch.optim.SGD(momentum)")
def _by_sgd(case: Case) -> float:
    matrix, momentum = _positive_definite(case, "A", 3), case.real("m", 0, 0.95)
    x0, steps = case.tensor("θ₀", 3).detach(), case.integer("steps", 1, 10)
    x, points = x0.clone().requires_grad_(), [x0]
    optimizer = torch.optim.SGD([x], lr=0.05, momentum=momentum)
    for _ in range(steps):
        x.grad = matrix @ x.detach()
        optimizer.step()
        points.append(x.detach().clone())
    path = case.build()(lambda x: 0.5 * x @ matrix @ x, x0, 0.05, momentum, steps)
    return difference(path.points, torch.stack(points))


def _without_momentum(curvature: Tensor, momentum: Tensor) -> Tensor:
    return (1 - curvature).abs() * torch.ones_like(momentum)


@law("maths.spectral_radius", fault=[_without_momentum, lambda curvature, momentum: momentum.abs().sqrt()])
def it_is_the_largest_eigenvalue_of_the_companion_matrix(case: Case) -> float:
    """$\\rho(\\eta\\lambda, m) = \\max |z|$ over $z^2 - (1 + m - \\eta\\lambda) z + m = 0$"""
    curvature, momentum = case.tensor("ηλ", 20, scale=2.0).detach(), case.tensor("m", 20).detach()
    one = torch.ones_like(momentum)
    rows = torch.stack([torch.stack([1 + momentum - curvature, -momentum], -1), torch.stack([one, 0 * one], -1)], -2)
    wanted = torch.from_numpy(np.abs(np.linalg.eigvals(rows.numpy())).max(-1))
    return max(0.0, difference(case.build()(curvature, momentum), wanted) - 1e-7)  # of a double root, half the digits


@law("maths.spectral_radius", fault=_without_momentum, most_cases=40)
def momentum_stays_bounded_where_it_is_below_one_and_leaves_where_it_is_above(case: Case) -> float:
    """heavy ball on $\\lambda \\theta^2 / 2$ converges ⟺ $\\rho < 1$ ⟺ $0 < \\eta\\lambda < 2 (1 + m)$"""
    share, momentum = case.real("ηλ", 0.1, 5), case.real("m", 0, 0.9)
    radius = float(case.build()(torch.tensor(share), torch.tensor(momentum)))
    if abs(share - 2 * (1 + momentum)) < 0.03:
        return abs(radius - 1) // 0.3  # too near the edge to see it in a run
    path = heavy_ball(lambda x: x.square().sum() / 2, [1.0], share, momentum, 300)
    last = float(path.points[-1].abs().nan_to_num(torch.inf).max())
    return float((radius < 1) != (last < 1e-3)) + float((radius < 1) != (share < 2 * (1 + momentum)))


# Curvature


def _rosenbrock(x: Tensor) -> Tensor:
    return (1 - x[:-1]).square().sum() + 100 * (x[1:] - x[:-1].square()).square().sum()


def _one_step_of_gradient(f: Objective, x0: Any, steps: int = 100, tolerance: float = 1e-8) -> Path:
    return gradient_descent(f, x0, 0.1, 1)


@law("maths.newton", fault=_one_step_of_gradient, tolerance=1e-7)
def a_parabola_takes_one_step(case: Case) -> float:
    """$\\theta_0 - H^{-1} \\nabla f(\\theta_0) = \\theta^*$ for a quadratic $f$"""
    d = case.integer("d", 1, 4)
    matrix, centre = _positive_definite(case, "H", d), case.tensor("centre", d).detach()
    path = case.build()(lambda x: 0.5 * (x - centre) @ matrix @ (x - centre), case.tensor("θ₀", d).detach(), 1)
    return difference(path.points[-1], centre)


def _of_the_hessian(inverse: Tensor, step: Tensor, change: Tensor) -> Tensor:
    return bfgs_update(inverse, change, step)


@law("maths.bfgs_update", fault=_of_the_hessian)
def the_step_is_what_it_makes_of_the_change_of_the_gradient(case: Case) -> float:
    """$H y = s$, $H = H^\\top$, and positive definite for $y^\\top s > 0$"""
    d = case.integer("d", 1, 5)
    inverse, step = _positive_definite(case, "H", d), case.tensor("s", d, away_from=(0.0,)).detach()
    change = _positive_definite(case, "curvature", d) @ step
    updated = case.build()(inverse, step, change)
    least = float(torch.linalg.eigvalsh(updated)[0])
    return difference((updated @ change, updated), (step, updated.T)) + float(least <= 0)


@peer("maths.bfgs_update", "scipy.optimize.BFGS", tolerance=1e-7)
def _scipys_update(case: Case) -> float:
    from scipy.optimize import BFGS  # type: ignore[import-untyped]

    d = case.integer("d", 1, 5)
    rule, inverse = BFGS(init_scale=1.0, exception_strategy="skip_update"), torch.eye(d, dtype=torch.float64)
    rule.initialize(d, "inv_hess")
    curvature = _positive_definite(case, "curvature", d)
    for i in range(3):
        step = case.tensor(f"s{i}", d, away_from=(0.0,)).detach()
        inverse = case.build()(inverse, step, curvature @ step)
        rule.update(step.numpy(), (curvature @ step).numpy())
    return difference(inverse, torch.from_numpy(rule.get_matrix()))


@peer("maths.bfgs", "scipy.optimize.minimize(BFGS)", tolerance=1e-4, most_cases=10)
def _scipys_bfgs(case: Case) -> float:
    from scipy.optimize import minimize

    d = case.integer("d", 2, 4)
    f: Objective = case.choice("function", (_rosenbrock, lambda x: (x**4).sum() + (x - 1).square().sum()))
    x0 = 0.5 + 0.2 * case.tensor("θ₀", d).detach()
    theirs = minimize(lambda x: float(f(torch.from_numpy(x))), x0.numpy(), method="BFGS", tol=1e-6)
    return difference(case.build()(f, x0, 500)[0].lowest, torch.from_numpy(theirs.x))


METHODS = ("gradient", "momentum", "newton", "bfgs", "lbfgs")


def _that_stops_early(f: Objective, x0: Any, method: str, **options: Any) -> Path:
    return minimise(f, x0, method, **{**options, "steps": 1})  # type: ignore[arg-type]


@law("maths.minimise", fault=_that_stops_early, tolerance=1e-5, most_cases=20)
def every_method_arrives_at_the_least_value_of_a_convex_function(case: Case) -> float:
    """$f(\\theta_T) \\to \\min f$ and $\\nabla f(\\theta_T) \\to 0$ by each method, from any start"""
    d, method = case.integer("d", 1, 3), case.choice("method", METHODS)
    matrix, centre = _positive_definite(case, "A", d), case.tensor("centre", d).detach()

    def bowl(x: Tensor) -> Tensor:
        away = x - centre
        return 0.5 * away @ matrix @ away + away.square().sum() + 0.1 * F.softplus(away).sum()

    rate = 1 / (float(torch.linalg.eigvalsh(matrix)[-1]) + 2.1)
    path = case.build()(bowl, 2 * case.tensor("θ₀", d).detach() + 1, method, steps=400, rate=rate, momentum=0.5)
    best = newton(bowl, centre).lowest
    return difference(path.lowest, best) + float(path.values[-1] > path.values[0])


# Landscapes


def _of_one_length(model: nn.Module, generator: torch.Generator | None = None) -> list[Tensor]:
    return [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in model.parameters()]


@law("maths.random_direction", fault=_of_one_length, tolerance=1e-8, most_cases=15)
def weights_that_are_moved_to_the_next_layer_of_relu_change_no_landscape(case: Case) -> float:
    """$W_1, b_1, W_2 \\to \\alpha W_1, \\alpha b_1, W_2 / \\alpha$ with $\\alpha > 0$ has the same landscape"""
    hidden, scale = case.integer("hidden", 1, 5), case.real("α", 0.1, 10)
    network = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 1)).double()
    values = [case.tensor(name, *p.shape, away_from=(0.0,)).detach() for name, p in network.named_parameters()]
    x, seeds = case.tensor("x", 10, 2).detach(), (1, 2)
    drawn = []
    for factor in (1.0, scale):
        with torch.no_grad():
            for p, value, power in zip(network.parameters(), values, (1, 1, -1, 0), strict=True):
                p.copy_(value * factor**power)
        first, second = (case.build()(network, torch.Generator().manual_seed(seed)) for seed in seeds)
        drawn.append(loss_landscape(network, lambda: network(x).square().mean(), first, second, points=5).losses)
    return difference(drawn[1], drawn[0])
