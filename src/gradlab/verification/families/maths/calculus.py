"""What is known of slopes, of polynomials that meet a function at a point, and of extrema."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gradlab.maths import calculus as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

NAMES = ("gradient", "jacobian", "hessian", "directional_derivative", "steepest_descent")
MORE = ("taylor", "linear_approximation", "quadratic_approximation", "extremum")
GRADIENT, JACOBIAN, HESSIAN, DIRECTIONAL, STEEPEST, TAYLOR, LINEAR, QUADRATIC, EXTREMUM = (
    f"maths.{name}" for name in (*NAMES, *MORE)
)
for _name in (*NAMES, *MORE):
    subject(f"maths.{_name}")(getattr(ours, _name))

Function = Callable[[Tensor], Tensor]
_STEP = 0.1  # of a planted fault, too long for a slope


class Waves:
    """f(x) = Σₖ cₖ tanh(aₖᵀx), whose derivatives are known, at a point x."""

    def __init__(self, case: Case, outputs: int | None = None):
        n, count = case.integer("n", 1, 4), case.integer("waves", 1, 3)
        self.at = case.tensor("x", n).detach()
        self.a = case.tensor("a", count, n).detach()
        self.c = case.tensor("c", *([] if outputs is None else [outputs]), count).detach()

    def __call__(self, x: Tensor) -> Tensor:
        return self.c @ torch.tanh(self.a @ x)

    @property
    def slopes(self) -> Tensor:
        return 1 - torch.tanh(self.a @ self.at).square()

    @property
    def gradient(self) -> Tensor:
        return (self.c * self.slopes) @ self.a

    @property
    def hessian(self) -> Tensor:
        bends = -2 * torch.tanh(self.a @ self.at) * self.slopes
        return self.a.mT @ torch.diag(self.c * bends) @ self.a


def _difference_quotient(function: Function, at: Tensor) -> Tensor:
    """Slopes over steps that are too long."""
    steps = _STEP * torch.eye(len(at), dtype=at.dtype)
    return torch.stack([(function(at + step) - function(at)) / _STEP for step in steps], -1)


# Derivatives


@law(GRADIENT, fault=[_difference_quotient, lambda f, x: -ours.gradient(f, x)])
def it_has_the_partial_derivatives(case: Case) -> float:
    """∇ Σ c tanh(aᵀx) = Σ c (1 - tanh²(aᵀx)) a"""
    f = Waves(case)
    return difference(case.build()(f, f.at), f.gradient)


@law(JACOBIAN, id="chain-rule", fault=[_difference_quotient, lambda f, x: ours.jacobian(f, x).tril()])
def that_of_a_composition_is_the_product(case: Case) -> float:
    r"""$∂y/∂x_i = Σ_k ∂y/∂u_k · ∂u_k/∂x_i$, so that $J_{g∘f}(x) = J_g(f(x)) J_f(x)$"""
    f = Waves(case, outputs=case.integer("inner", 1, 4))
    outer, jacobian = case.tensor("outer", case.integer("outputs", 1, 4), len(f.c)).detach(), case.build()

    def g(u: Tensor) -> Tensor:
        return torch.sin(outer @ u) + (outer @ u).square()

    whole = jacobian(lambda x: g(f(x)), f.at)
    inner = (f.c * f.slopes) @ f.a
    z = outer @ f(f.at)
    by_hand = (z.cos() + 2 * z)[:, None] * (outer @ inner)
    return difference((whole, whole), (jacobian(g, f(f.at)) @ jacobian(f, f.at), by_hand))


def _gauss_newton(function: Function, at: Tensor) -> Tensor:
    """The curvature without what second derivatives have in it."""
    slope = ours.gradient(function, at)
    return torch.outer(slope, slope)


@law(HESSIAN, fault=_gauss_newton)
def it_is_symmetric_and_has_the_second_derivatives(case: Case) -> float:
    """H = Hᵀ, and of Σ c tanh(aᵀx) it is -2 Σ c tanh(aᵀx) (1 - tanh²(aᵀx)) a aᵀ"""
    f = Waves(case)
    curvature = case.build()(f, f.at)
    return difference((curvature, curvature), (curvature.mT, f.hessian))


@peer(HESSIAN, "torch.autograd.functional.hessian")
def torchs_hessian(case: Case) -> float:
    f = Waves(case)
    return difference(case.build()(f, f.at), torch.autograd.functional.hessian(f, f.at))  # type: ignore[no-untyped-call]


@law(DIRECTIONAL, fault=lambda f, x, v: ours.directional_derivative(f, x, v / v.norm().clamp(min=1e-9)))
def it_is_the_product_with_the_gradient(case: Case) -> float:
    """$D_v f = ⟨∇f, v⟩$: linear in v"""
    f = Waves(case)
    v = case.tensor("v", len(f.at)).detach()
    return difference(case.build()(f, f.at, v), f.gradient @ v)


# Descent


STEEPEST_FAULTS = [
    lambda g: ours.steepest_descent(-g),
    lambda g: -g,
    lambda g: -g.sign() / max(len(g) ** 0.5, 1.0),
]


@law(STEEPEST, id="steepest-descent", fault=STEEPEST_FAULTS)
def no_other_direction_falls_faster(case: Case) -> float:
    """min over ‖y‖ = 1 of ⟨y, ∇C⟩ is -‖∇C‖, at y = -∇C / ‖∇C‖"""
    slope = case.tensor("gradient", case.integer("n", 2, 5)).detach()
    best = case.build()(slope)
    others = torch.randn(200, len(slope), generator=case.generator("y"), dtype=slope.dtype)
    others = others / others.norm(dim=1, keepdim=True)
    length = (slope != 0).any().to(slope)  # of the zero vector no direction is steepest
    return max(
        difference((best @ slope, best.norm()), (-slope.norm(), length)), excess(best @ slope, (others @ slope).min())
    )


# Polynomials


def _off_slope(function: Function, at: Tensor) -> Function:
    slope = _difference_quotient(function, at)
    return lambda x: function(at) + slope @ (x - at)


@law(LINEAR, id="taylor-first-order", fault=[_off_slope, lambda f, a: lambda x: f(a)], tolerance=1e-2)
def what_is_left_over_is_of_second_order(case: Case) -> float:
    """(f(x + εv) - f(x) - ε ⟨∇f, v⟩) / ε² → ½ vᵀHv as ε → 0, in one dimension f''/2"""
    f, eps = Waves(case), 1e-4
    v = case.tensor("v", len(f.at)).detach()
    v = v / v.norm().clamp(min=1.0)
    remainder = (f(f.at + eps * v) - case.build()(f, f.at)(f.at + eps * v)) / eps**2
    wanted = 0.5 * v @ f.hessian @ v
    return float((remainder - wanted).abs()) / max(1.0, float(f.c.abs().sum() * f.a.norm() ** 2))


@law(QUADRATIC, fault=lambda f, a: ours.linear_approximation(f, a), tolerance=1e-3)
def what_is_left_over_is_of_third_order(case: Case) -> float:
    """(f(x + εv) - q(x + εv)) / ε² → 0 as ε → 0"""
    f, eps = Waves(case), 1e-4
    f.c = f.c + 0.5
    v = case.tensor("v", len(f.at)).detach()
    v = v / v.norm().clamp(min=1.0)
    remainder = (f(f.at + eps * v) - case.build()(f, f.at)(f.at + eps * v)) / eps**2
    return float(remainder.abs()) / max(1.0, float(f.c.abs().sum() * f.a.norm() ** 3))


SERIES: dict[str, tuple[Function, list[float]]] = {
    "exp": (torch.exp, [1, 1, 1 / 2, 1 / 6, 1 / 24]),
    "sin": (torch.sin, [0, 1, 0, -1 / 6, 0]),
    "cos": (torch.cos, [1, 0, -1 / 2, 0, 1 / 24]),
    "1/(1-x)": (lambda x: 1 / (1 - x), [1, 1, 1, 1, 1]),
    "tanh": (torch.tanh, [0, 1, 0, -1 / 3, 0]),
    "log(1+x)": (torch.log1p, [0, 1, -1 / 2, 1 / 3, -1 / 4]),
}


def _without_factorials(function: Function, at: Any, degree: int) -> ours.Polynomial:
    right = ours.taylor(function, at, degree)
    factorials = torch.arange(1, degree + 1).cumprod(0).tolist()
    return ours.Polynomial(right.at, [c * k for c, k in zip(right.coefficients, [1, *factorials], strict=True)])


@law(TAYLOR, fault=_without_factorials)
def known_series_come_out(case: Case) -> float:
    """$e^x = Σ x^k / k!$, sin x = x - x³/6 + …, 1/(1 - x) = 1 + x + x² + …, each with its first five terms"""
    function, wanted = SERIES[case.choice("function", tuple(SERIES))]
    polynomial = case.build()(function, 0.0, 4)
    x = case.tensor("x", case.integer("points", 1, 4)).detach()
    powers = x[:, None] ** torch.arange(5)
    series = powers @ torch.tensor(wanted, dtype=x.dtype)
    return difference((torch.stack(polynomial.coefficients), polynomial(x)), (x.new_tensor(wanted), series))


@peer(TAYLOR, "scipy.interpolate.approximate_taylor_polynomial", tolerance=1e-5, most_cases=10)
def scipys_taylor_polynomial(case: Case) -> float:
    """From values at points nearby."""
    from scipy.interpolate import approximate_taylor_polynomial  # type: ignore[import-untyped]

    at, degree = case.real("at", -1, 1), case.integer("degree", 1, 3)
    theirs = approximate_taylor_polynomial(lambda x: torch.sin(torch.as_tensor(x)).numpy(), at, degree, 0.1, degree + 6)
    wanted = torch.as_tensor(theirs.coeffs[::-1].copy())
    got = torch.stack(case.build()(torch.sin, at, degree).coefficients)
    return difference(got[: len(wanted)], wanted)


# Extrema


def _by_trace(function: Function, at: Tensor) -> str:
    """Sees the sum of the eigenvalues alone."""
    return "minimum" if float(ours.hessian(function, at).trace()) > 0 else "maximum"


@law(EXTREMUM, fault=_by_trace)
def the_signs_of_the_eigenvalues_tell(case: Case) -> float:
    """H ≻ 0 at a minimum, H ≺ 0 at a maximum, both signs at a saddle, and else nothing is told"""
    n = case.integer("n", 2, 4)
    signs = case.choice("signs", ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 0.0), (-1.0, 0.0)))
    wanted = {(1, 1): "minimum", (-1, -1): "maximum", (1, -1): "saddle"}.get(
        (int(signs[0]), int(signs[1])), "undecided"
    )
    values = torch.tensor([signs[0] * (i + 1) for i in range(n - 1)] + [signs[1] * 0.3], dtype=torch.float64)
    turn, _ = torch.linalg.qr(torch.randn(n, n, generator=case.generator("turn"), dtype=torch.float64))
    at = case.tensor("at", n).detach()

    def bowl(x: Tensor) -> Tensor:
        y: Tensor = turn @ (x - at)
        return (0.5 * values * y.square() + y**4).sum()

    return float(case.build()(bowl, at) != wanted)
