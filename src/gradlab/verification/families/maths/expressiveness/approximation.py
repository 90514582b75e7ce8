"""Functions that networks come near to, and how near."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.maths.expressiveness import approximation as ours
from gradlab.maths.expressiveness.exponentials import ExponentialSum, bernstein, separating
from gradlab.maths.expressiveness.modulus import modulus_of_continuity, uniform_distance
from gradlab.maths.expressiveness.polynomials import (
    BestPolynomial,
    PolynomialActivation,
    best_polynomial,
    network_polynomial,
)
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

subject("maths.uniform_distance")(uniform_distance)
subject("maths.interpolate")(ours.interpolate)
subject("maths.approximate")(ours.approximate)
subject("maths.approximate_deep")(ours.approximate_deep)
subject("maths.best_polynomial")(best_polynomial)
subject("maths.network_polynomial")(network_polynomial)
subject("maths.exponential_product")(ExponentialSum.__mul__)
subject("maths.bernstein")(bernstein)

Function = Callable[[Tensor], Tensor]
FEW: dict[str, Any] = {"most_cases": 10}  # each looks at thousands of points


def _function(case: Case, roots: bool = True) -> tuple[Function, float, float]:
    """A continuous function on an interval: waves, a corner, and a place where it is infinitely steep."""
    low = case.real("low", -2, 1)
    high = low + case.real("length", 0.5, 3)
    wave, corner, root = case.real("wave", 1, 6), case.real("corner", -2, 2), case.real("root", -2, 2)
    steep = case.real("share of the root", 0.5, 1) if roots else 0.0
    return (
        lambda x: torch.sin(wave * x) + (x - corner).abs() + steep * (x - root).abs().sqrt(),
        low,
        high,
    )


def _inside(case: Case, low: float, high: float, name: str = "x") -> Tensor:
    return case.positive(name, 500, low=0.0, high=1.0).detach().round(decimals=15) * (high - low) + low


# Uniform continuity and one hidden layer


def _in_the_middle(f: Function, low: float, high: float, error: float) -> float:
    """What is small enough at one point: continuity, and not uniform continuity."""
    middle, distance = torch.tensor((low + high) / 2, dtype=torch.float64), high - low
    while (f(middle + distance / 2) - f(middle)).abs() > error or (f(middle - distance / 2) - f(middle)).abs() > error:
        distance /= 2
    return distance


@law("maths.uniform_distance", fault=_in_the_middle, id="heine-cantor", tolerance=0.02, **FEW)
def one_distance_does_for_all_points(case: Case) -> float:
    """$|x - y| \\le \\delta \\Rightarrow |f(x) - f(y)| \\le \\varepsilon$ with one $\\delta$ for all of $[a, b]$

    The error is that beyond ε, as a share of it: the function is looked at on a grid.
    """
    (f, low, high), error = _function(case), case.real("ε", 0.1, 0.5)
    distance = case.build()(f, low, high, error)
    x = torch.linspace(low, high, 3001, dtype=torch.float64)
    y = (x[:, None] + distance * torch.linspace(-1, 1, 9, dtype=torch.float64)).clamp(low, high)
    return excess((f(x)[:, None] - f(y)).abs(), error) / error


def _of_steps(f: Function, low: float, high: float, pieces: int) -> Any:
    """Level pieces, each at the value of its beginning."""
    network = ours.interpolate(lambda x: f(x - (high - low) / pieces), low, high, pieces)
    return ours.Approximation(network.network, 0.0, pieces)


@law("maths.interpolate", fault=_of_steps, id="universal-approximation-width", tolerance=1e-3, **FEW)
def its_error_is_at_most_what_the_function_varies_over_a_piece(case: Case) -> float:
    """$\\max |f - g| \\le \\omega_f((b - a) / N)$, and the error that is stated is the largest"""
    (f, low, high), pieces = _function(case), case.integer("pieces", 1, 64)
    near: ours.Approximation = case.build()(f, low, high, pieces)
    x = torch.linspace(low, high, 16 * pieces + 1, dtype=torch.float64)
    error = (near.network(x[:, None])[:, 0] - f(x)).abs().max()
    bound = modulus_of_continuity(f, low, high, (high - low) / pieces)
    return max(excess(error, bound), abs(float(error) - near.error))


def _with_half_the_pieces(f: Function, low: float, high: float, error: float) -> Any:
    return ours.interpolate(f, low, high, max(1, ours.approximate(f, low, high, error).pieces // 16))


@law("maths.approximate", fault=_with_half_the_pieces, id="universal-approximation-width", tolerance=1e-2, **FEW)
def it_is_as_near_as_was_asked_for(case: Case) -> float:
    """for each $\\varepsilon > 0$ there is a width with $\\max_x |f(x) - g(x)| \\le \\varepsilon$"""
    (f, low, high), error = _function(case), case.real("ε", 0.05, 0.3)
    network, x = case.build()(f, low, high, error).network, _inside(case, low, high)
    return excess((network(x[:, None])[:, 0] - f(x)).abs(), error) / error


def _least_squares(f: Function, degree: int, low: float = -1.0, high: float = 1.0) -> BestPolynomial:
    x = np.linspace(low, high, 4001)
    fitted = np.polynomial.Chebyshev.fit(x, f(torch.from_numpy(x)).numpy(), degree)
    error = float(np.abs(fitted(x) - f(torch.from_numpy(x)).numpy()).max())
    return BestPolynomial(torch.from_numpy(fitted.coef), error, error)


@law("maths.best_polynomial", fault=_least_squares, id="universal-approximation-width", tolerance=1e-5, **FEW)
def no_width_brings_a_quadratic_activation_within_an_eighth_of_the_absolute_value(case: Case) -> float:
    """$\\max_{[-h, h]} |a |x| - p(x)| \\ge a h / 8$ for all $p$ of degree 2: such a $\\sigma$ is not universal"""
    size, half = case.real("a", 0.1, 3), case.real("h", 0.5, 2)
    best: BestPolynomial = case.build()(lambda x: size * x.abs(), case.integer("degree", 2, 3), -half, half)
    return abs(best.error / (size * half) - 1 / 8) + abs(best.bound / (size * half) - 1 / 8)


@peer("maths.best_polynomial", "scipy.optimize.linprog", tolerance=1e-6, most_cases=5)
def _by_linear_programming(case: Case) -> float:
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    (f, low, high), degree = _function(case), case.integer("degree", 0, 5)
    x = np.linspace(low, high, 4001)
    y, powers = f(torch.from_numpy(x)).numpy(), np.polynomial.chebyshev.chebvander(np.linspace(-1, 1, 4001), degree)
    ones = np.ones((len(x), 1))
    rows, sides = np.block([[powers, -ones], [-powers, -ones]]), np.concatenate([y, -y])
    least = linprog([*[0.0] * (degree + 1), 1.0], rows, sides, bounds=(None, None)).fun
    best: BestPolynomial = case.build()(f, degree, low, high)
    return float(max(abs(best.error - least), abs(best.bound - least)))


# Depth


@law(
    "maths.approximate_deep",
    fault=lambda f, low, high, pieces: ours.approximate_deep(f, low, high, max(1, pieces // 2)),
    id="universal-approximation-depth",
    **FEW,
)
def two_units_a_layer_are_as_near_as_layers_allow(case: Case) -> float:
    """width $d + 1 = 2$: $\\max |f - z| \\le M (b - a) / N$ and $z(t_k) = f(t_k)$, with $2N$ hidden layers"""
    (f, low, high), pieces = _function(case, roots=False), case.integer("pieces", 2, 60)
    network = case.build()(f, low, high, pieces).network
    knots, x = torch.linspace(low, high, pieces + 1, dtype=torch.float64), _inside(case, low, high)
    values = f(knots)
    steepest = max(1e-3, float((values.diff() / knots.diff()).abs().max()))
    off = excess((network(x[:, None])[:, 0] - f(x)).abs(), 7.0 * (high - low) / pieces)  # f has no slope beyond 7
    on = difference(network(knots[:, None])[:, 0], values) / (1 + steepest)
    widths = {layer.out_features for layer in network[:-1] if isinstance(layer, nn.Linear)}
    return max(off, on, float(widths != {2}))


# Polynomial activations


def _of_another_order(network: nn.Sequential) -> Tensor:
    return network_polynomial(network).flip(-1)


@law("maths.network_polynomial", fault=_of_another_order, id="polynomial-activation-closure")
def any_width_gives_a_polynomial_of_the_activations_degree(case: Case) -> float:
    """$\\sum_i a_i \\sigma(w_i x + b_i) = \\sum_{k \\le N} p_k x^k$ for $\\deg \\sigma = N$, whatever the width"""
    degree, width = case.integer("degree", 0, 4), case.integer("width", 1, 30)
    activation = PolynomialActivation(case.tensor("σ", degree + 1).tolist())
    network = nn.Sequential(nn.Linear(1, width), activation, nn.Linear(width, case.integer("outputs", 1, 2))).double()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(case.tensor(name, *parameter.shape))
    x = case.tensor("x", 7).detach()
    coefficients: Tensor = case.build()(network)
    values = x[:, None] ** torch.arange(coefficients.shape[1]) @ coefficients.T
    return difference(values, network(x[:, None])) + max(0, coefficients.shape[1] - 1 - degree)


# Exponentials


def _sum(case: Case, name: str, inputs: int) -> ExponentialSum:
    terms = case.integer(f"terms of {name}", 1, 4)
    exponents = case.tensor(f"exponents of {name}", terms, inputs, scale=0.5).detach()
    return ExponentialSum(exponents, case.tensor(f"weights of {name}", terms).detach())


def _by_products_of_exponents(f: ExponentialSum, g: ExponentialSum) -> ExponentialSum:
    exponents = (f.exponents[:, None] * g.exponents).flatten(0, 1)
    return ExponentialSum(exponents, torch.outer(f.weights, g.weights).flatten())


@law("maths.exponential_product", fault=_by_products_of_exponents, id="exp-algebra")
def products_and_sums_are_sums_of_exponentials_again(case: Case) -> float:
    """$e^{\\nu^\\top x} e^{\\mu^\\top x} = e^{(\\nu + \\mu)^\\top x}$; 1 is one of them, and they separate points"""
    inputs = case.integer("inputs", 1, 3)
    f, g, x = _sum(case, "f", inputs), _sum(case, "g", inputs), case.tensor("x", 6, inputs).detach()
    times, one = case.build(), ExponentialSum(torch.zeros(1, inputs).double(), torch.ones(1).double())
    y = x + 0.3
    apart = [float(separating(a, b)(b) - separating(a, b)(a)) for a, b in zip(x, y, strict=True)]
    closed = difference((f(x) * g(x), f(x) + g(x), f(x)), (times(f, g)(x), (f + g)(x), times(f, one)(x)))
    return closed + float(min(apart) <= 0)


def _of_an_even_function(f: Function, degree: int, low: float, high: float, through: Function) -> Function:
    """In the algebra of cosh, which does not tell the two halves of the interval apart."""
    middle = (low + high) / 2
    half = bernstein(f, degree, middle, high, lambda x: torch.cosh(x - middle))
    return lambda x: half(middle + (x - middle).abs())


@law("maths.bernstein", fault=_of_an_even_function, id="stone-weierstrass", tolerance=1e-3, **FEW)
def an_algebra_that_separates_points_comes_near_to_every_continuous_function(case: Case) -> float:
    """$\\max |f - B_n f| \\le \\frac54 \\omega(n^{-1/2})$ in the span of $1, \\varphi, \\dots, \\varphi^n$

    ω is that of f as a function of φ, brought to [0, 1]; φ is an exponential, which no two points share a value of.
    """
    (f, low, high), degree, rate = _function(case), case.integer("degree", 300, 600), case.real("ν", 0.5, 1.5)

    def through(x: Tensor) -> Tensor:
        return torch.exp(rate * x)

    ends = through(torch.tensor([low, high], dtype=torch.float64))

    def of_unit(u: Tensor) -> Tensor:
        return f(torch.log(ends[0] + u * (ends[1] - ends[0])) / rate)

    x = _inside(case, low, high)
    bound = 1.25 * modulus_of_continuity(of_unit, 0.0, 1.0, 1 / sqrt(degree))
    return excess((case.build()(f, degree, low, high, through)(x) - f(x)).abs(), bound)
