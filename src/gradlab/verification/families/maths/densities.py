"""What is known of integrals, and of entropies and divergences of densities."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Beta, Distribution, Exponential, Gamma, Normal

from gradlab.maths import information as ours
from gradlab.maths.quadrature import integrate
from gradlab.nn import divergences
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

subject("maths.integrate")(integrate)
for _function in (ours.differential_entropy, ours.entropy_by_quadrature, ours.kl_by_quadrature, ours.pushforward):
    subject(f"maths.{_function.__name__}")(_function)


def _known(case: Case) -> tuple[Distribution, float, float]:
    """A distribution on a line, and where it lives."""
    first, second = (case.positive(name, low=0.6, high=3.0).detach() for name in ("first", "second"))
    kind = case.choice("kind", ("normal", "exponential", "gamma", "beta"))
    if kind == "normal":
        return Normal(first - 1, second, validate_args=False), -math.inf, math.inf
    if kind == "beta":
        return Beta(first + 1, second + 1, validate_args=False), 0.0, 1.0
    positive = Exponential(second, validate_args=False), Gamma(first + 1, second, validate_args=False)
    return positive[kind == "gamma"], 0.0, math.inf


@law("maths.integrate", fault=lambda f, low, high: torch.trapezoid(f(x := torch.linspace(-9, 9, 999).double()), x))
def the_mass_of_a_density_is_one(case: Case) -> float:
    """∫ p(x) dx = 1 and ∫ x p(x) dx = E X, over a line, half a line and an interval"""
    known, low, high = _known(case)
    integral = case.build()
    mass = integral(lambda x: known.log_prob(x).exp(), low, high)
    mean = integral(lambda x: x * known.log_prob(x).exp(), low, high)
    return difference((mass, mean), (torch.ones_like(mass), known.mean))


@law("maths.entropy_by_quadrature", fault=lambda f, low, high: -ours.entropy_by_quadrature(f, low, high))
def quadrature_finds_the_closed_form(case: Case) -> float:
    """-∫ p log p is what closed forms say of normal, exponential, gamma and beta densities"""
    known, low, high = _known(case)
    return difference(case.build()(known.log_prob, low, high), ours.differential_entropy(known))


def _wavy(case: Case, low: float, high: float) -> Callable[[Tensor], Tensor]:
    """The logarithm of a density on an interval: a random sum of waves, less the logarithm of its mass."""
    waves = case.tensor("waves", 4).detach()

    def raw(x: Tensor) -> Tensor:
        share = (x - low) / (high - low)
        return sum((a * torch.cos(math.pi * k * share) for k, a in enumerate(waves.tolist(), 1)), torch.zeros_like(x))

    mass = integrate(lambda x: raw(x).exp(), low, high)
    return lambda x: raw(x) - mass.log()


def _interval(case: Case) -> tuple[float, float]:
    low = case.real("low", -3, 3)
    return low, low + case.real("width", 0.1, 4)


@law(
    "maths.entropy_by_quadrature",
    id="entropy-bounds",
    fault=[
        lambda f, low, high: -integrate(lambda x: f(x), low, high) / (high - low),
        lambda f, low, high: ours.entropy_by_quadrature(f, low, high).clamp(min=0.0),
    ],
)
def nothing_on_an_interval_holds_more_than_the_uniform_density(case: Case) -> float:
    """h(p) ≤ log(b - a) on [a, b], which the uniform density has, and which is negative for b - a < 1"""
    (low, high), entropy = _interval(case), case.build()
    most = torch.tensor(math.log(high - low), dtype=torch.float64)
    uniform = entropy(lambda x: torch.zeros_like(x) - most, low, high)
    return max(excess(entropy(_wavy(case, low, high), low, high), most), difference(uniform, most))


@peer("maths.differential_entropy", "scipy.stats")
def entropies_of_scipy(case: Case) -> float:
    from scipy import stats  # type: ignore[import-untyped]

    known, *_ = _known(case)
    a = {name: float(getattr(known, name, math.nan)) for name in ("loc", "scale", "rate", "concentration")}
    wanted = {
        Normal: lambda: stats.norm(a["loc"], a["scale"]),
        Exponential: lambda: stats.expon(scale=1 / a["rate"]),
        Gamma: lambda: stats.gamma(a["concentration"], scale=1 / a["rate"]),
        Beta: lambda: stats.beta(float(known.concentration1), float(known.concentration0)),  # type: ignore[attr-defined]
    }[type(known)]()
    return difference(case.build()(known), torch.as_tensor(wanted.entropy(), dtype=torch.float64))


def _two_normals(case: Case) -> tuple[Normal, Normal]:
    m, other = (case.real(name, -2, 2) for name in ("mean", "other_mean"))
    s, other_std = (case.real(name, 0.3, 2) for name in ("std", "other_std"))
    return Normal(*torch.tensor([m, s]).double()), Normal(*torch.tensor([other, other_std]).double())


@law("maths.kl_by_quadrature", fault=lambda p, q, low=0, high=0: ours.kl_by_quadrature(q, p))
def of_normals_it_is_the_closed_form(case: Case) -> float:
    """∫ p log(p/q) = log(s/σ) + (σ² + (μ - m)²) / 2s² - ½ for N(μ, σ²) and N(m, s²)"""
    p, q = _two_normals(case)
    wanted = divergences.kl_gaussian(*(x[None] for x in (p.mean, p.stddev, q.mean, q.stddev)))
    return difference(case.build()(p.log_prob, q.log_prob), wanted)


MAPS: dict[str, tuple[Callable[[Tensor], Tensor], float, float]] = {
    "exp": (torch.log, 0.0, math.inf),
    "sinh": (torch.asinh, -math.inf, math.inf),
    "sigmoid": (torch.logit, 0.0, 1.0),
    "-exp": (lambda y: (-y).log(), -math.inf, 0.0),
}
"""The inverse of each, and where it leads."""


@law(
    "maths.pushforward", id="kl-diffeo-invariance", fault=lambda log_density, inverse: lambda y: log_density(inverse(y))
)
def no_change_of_variable_brings_densities_nearer(case: Case) -> float:
    """KL(Ψ_*P‖Ψ_*Q) = KL(P‖Q), by quadrature where Ψ = exp, sinh, sigmoid or -exp leads"""
    (p, q), pushed = _two_normals(case), case.build()
    inverse, low, high = MAPS[case.choice("Ψ", tuple(MAPS))]
    image = [pushed(each.log_prob, inverse) for each in (p, q)]
    mass = integrate(lambda y: image[0](y).exp(), low, high)
    divergence = integrate(lambda y: image[0](y).exp() * (image[0](y) - image[1](y)), low, high)
    return difference((mass, divergence), (torch.ones_like(mass), ours.kl_by_quadrature(p.log_prob, q.log_prob)))


@law("maths.pushforward", fault=lambda log_density, inverse: lambda y: log_density(inverse(y)))
def entropy_grows_by_the_mean_log_of_the_slope(case: Case) -> float:
    """h(Ψ(X)) = h(X) + E log |Ψ'(X)|, which is h(X) + E X for Ψ = exp"""
    p, _ = _two_normals(case)
    image = case.build()(p.log_prob, torch.log)
    got = integrate(lambda y: -torch.special.xlogy(image(y).exp(), image(y).exp()), 0.0, math.inf)
    return difference(got, ours.differential_entropy(p) + p.mean)
