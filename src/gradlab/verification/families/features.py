"""What is known of the feature maps of attention at linear cost."""

from collections.abc import Callable
from math import exp, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.attention import features as ours
from gradlab.scratch import features
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, peer
from gradlab.verification.comparing import array, difference
from gradlab.verification.subject import Incomparable

ELU, POSITIVE, COSH, FOURIER = (f"feature.{name}" for name in ("elu", "positive", "cosh", "fourier"))
EXPONENTIAL = (POSITIVE, COSH)
MANY = 60_000  # directions of a statistical law, in blocks of up to 4: a multiple of 12
# A z-score beyond 5 has a chance of 6e-7, on one side 3e-7, and there are three cases.
STATISTICAL: dict[str, Any] = {"tolerance": 5.0, "most_cases": 3}


def directions(block: nn.Module) -> Tensor:
    if not isinstance(omega := getattr(block, "omega", None), Tensor):
        raise Incomparable("it has no buffer omega, the random directions that the twin would need")
    return omega


# Twins, peers and examples


def _elu(case: Case) -> Call:
    x = case.tensor("x", case.integer("batch", 1, 4), case.integer("dim", 1, 5), scale=3.0)
    return Call(case.build(), (x,))


def _random(**drawn: Callable[[Case], Any]) -> Draw:
    def draw(case: Case) -> Call:
        d, k = case.integer("dim", 1, 4), case.integer("num_features", 1, 6)
        options = {name: value(case) for name, value in drawn.items()}
        block = case.build(dim=d, num_features=k, orthogonal=case.flag("orthogonal"), **options)
        x = case.tensor("x", case.integer("batch", 1, 4), d)
        return Call(block, (x,), options=options | {"omega": array(directions(block))})

    return draw


conform(ELU, _elu, twin=features.elu_plus_one, peer={"torch.nn.ELU": lambda call: nn.ELU()(*call.inputs) + 1})
conform(POSITIVE, _random(), twin=features.positive)
conform(COSH, _random(), twin=features.cosh)
conform(FOURIER, _random(gamma=lambda case: case.real("gamma", 0.1, 2)), twin=features.fourier)
example(ELU, call=lambda n, d: ({}, (torch.randn(n, d),)), n=5, d=4)
example(
    *EXPONENTIAL, FOURIER, call=lambda n, d, k: ({"dim": d, "num_features": k}, (torch.randn(n, d) / 2,)), n=5, d=4, k=6
)


@peer(FOURIER, "sklearn.kernel_approximation.RBFSampler", **STATISTICAL)
def sklearns_sampler(case: Case) -> float:
    """Both estimate the same kernel, from directions of their own. They are told apart once in 500,000 times."""
    from sklearn.kernel_approximation import RBFSampler

    x, y, gamma, _ = gaussian(case, case.integer("dim", 2, 4))
    block = many(case, len(x), gamma=gamma)
    sampler = RBFSampler(gamma=gamma, n_components=MANY, random_state=0).fit(x[None].numpy())
    theirs = MANY * torch.from_numpy(sampler.transform(torch.stack([x, y]).numpy())).prod(0)
    ours_ = products(block, x, y)
    error = sqrt(float(ours_.var()) / len(ours_) + float(theirs.var()) / MANY)
    return abs(float(ours_.mean() - theirs.mean())) / error


# Random maps: each dot product of features is a mean over k directions, whose mean and variance are known


def pair(case: Case) -> tuple[Tensor, Tensor]:
    """Two vectors no longer than a half, so that means of their features are nearly normal."""
    d = case.integer("dim", 2, 4)
    x, y = (case.tensor(name, d).detach() for name in "xy")
    return x / (2 * max(float(x.norm()), 1.0)), y / (2 * max(float(y.norm()), 1.0))


def products(block: Any, x: Tensor, y: Tensor) -> Tensor:
    """Of each direction, its share of φ(x)ᵀφ(y), times their number: their mean is the estimate of the kernel."""
    k = block.num_features
    shares: Tensor = k * (block(x[None]) * block(y[None])).reshape(-1, k).sum(0)
    return shares


def z_score(samples: Tensor, wanted: float, variance: float | None = None) -> float:
    """The distance of a mean from what is wanted, in standard errors."""
    error = sqrt((float(samples.var()) if variance is None else variance) / len(samples))
    return abs(float(samples.mean()) - wanted) / max(error, 1e-9)


def many(case: Case, d: int, **settings: Any) -> Any:
    """The block with many directions."""
    return case.build(dim=d, num_features=case.integer("num_features", MANY, MANY), **settings)


def gaussian(case: Case, d: int) -> tuple[Tensor, Tensor, float, float]:
    """Two vectors, γ and their kernel."""
    x, y, gamma = case.tensor("x", d).detach(), case.tensor("y", d).detach(), case.real("gamma", 0.1, 2)
    return x, y, gamma, exp(-gamma * float((x - y).square().sum()))


def exp_variance(x: Tensor, y: Tensor) -> float:
    """Of e^(ωᵀ(x+y)) e^(-‖x‖²/2 - ‖y‖²/2)"""
    s = float((x + y).square().sum())
    return exp(-float(x.square().sum() + y.square().sum())) * (exp(2 * s) - exp(s))


def cosh_variance(x: Tensor, y: Tensor) -> float:
    """Of cosh(ωᵀ(x+y)) e^(-‖x‖²/2 - ‖y‖²/2)"""
    s = float((x + y).square().sum())
    return exp(-float(x.square().sum() + y.square().sum())) * (exp(2 * s) / 2 + 1 / 2 - exp(s))


VARIANCE = {POSITIVE: exp_variance, COSH: cosh_variance}

# Laws of positive maps


def times_norm(power: float) -> Fault:
    """The factor e^(-‖x‖²/2) is forgotten, or is another one."""
    return Fault(forward=lambda self, x: self.right(x) * (power * x.square().sum(-1, keepdim=True)).exp())


def _short(self: Any, generator: Any = None) -> None:
    """Directions of unit length on average: N(0, I/d) instead of N(0, I)."""
    ours.RandomFeatures.redraw(self, generator)
    self.omega /= sqrt(self.dim)


def _one_sign(self: Any, x: Tensor) -> Tensor:
    """The second half of the features repeats the first."""
    return ours.CoshFeatures._projections(self, x)[..., : self.num_features].repeat(1, 2)


rounded = Fault(forward=lambda self, x: nn.functional.elu(x.float()) + 1)  # the 1 swallows what is left of e^x
centred = Fault(forward=lambda self, x: self.right(x) - self.right(x).mean(-1, keepdim=True))


@law(ELU, *EXPONENTIAL, fault={ELU: rounded, **dict.fromkeys(EXPONENTIAL, centred)})
def features_are_positive(case: Case) -> float:
    """φ(x) > 0, in float32 too"""
    d = case.integer("dim", 1, 4)
    x = case.tensor("x", 8, d).detach().float()
    if case.subject.name == ELU:
        return float((case.build().float()(20 * x) <= 0).sum())
    return float((case.build(dim=d, num_features=case.integer("num_features", 2, 6)).float()(x) <= 0).sum())


@law(POSITIVE, id="performer-identity", fault=[times_norm(0.5), times_norm(-0.5)], **STATISTICAL)
@law(COSH, id="performer-cosh", fault=[times_norm(0.5), times_norm(-0.5)], **STATISTICAL)
def the_kernel_is_the_exponential_on_average(case: Case) -> float:
    """E φ(x)ᵀφ(y) = exp(xᵀy); for y = 0 that is E exp(ωᵀx) = exp(‖x‖²/2)

    For independent and for orthogonal directions. A right block fails once in 250,000 times.
    """
    x, y = pair(case)
    y = y * case.choice("factor of y", (1, 0))
    variance = VARIANCE[case.subject.name](x, y)  # orthogonal directions have less
    free, orthogonal = (products(many(case, len(x), orthogonal=orthogonal), x, y) for orthogonal in (False, True))
    return max(z_score(samples, exp(float(x @ y)), variance) for samples in (free, orthogonal))


@law(COSH, id="performer-cosh", fault=Fault(_projections=_one_sign), **STATISTICAL)
def both_signs_vary_less_than_half_as_much(case: Case) -> float:
    """Var(cosh) ≤ ½ Var(exp): one direction with both signs is better than two directions

    In standard errors. A right block fails less than once in a million times.
    """
    x, y = (v / 2 for v in pair(case))
    squares = (products(many(case, len(x)), x, y) - exp(float(x @ y))).square()
    above = max(0.0, float(squares.mean()) - exp_variance(x, y) / 2)
    return above / max(sqrt(float(squares.var()) / len(squares)), 1e-12)


@law(POSITIVE, id="performer-identity", fault=Fault(redraw=_short), **STATISTICAL)
@law(COSH, id="performer-cosh", fault=Fault(_projections=_one_sign), **STATISTICAL)
def the_variance_of_a_direction_is_known(case: Case) -> float:
    """Var = exp(-‖x‖²-‖y‖²) (e²ˢ - eˢ), and with both signs (½e²ˢ + ½ - eˢ), where s = ‖x + y‖²

    A right block fails once in 500,000 times.
    """
    x, y = (v / 2 for v in pair(case))  # the fourth powers of the features of longer ones are far from normal
    squares = (products(many(case, len(x)), x, y) - exp(float(x @ y))).square()
    return z_score(squares, VARIANCE[case.subject.name](x, y))


@law(*EXPONENTIAL, fault=lambda orthogonal, **settings: ours.PositiveFeatures(**settings), **STATISTICAL)
def directions_at_right_angles_vary_less(case: Case) -> float:
    """Cov(i, j) ≤ -2/(d+2) (exp(‖x‖²) - exp(-‖x‖²))² for two of a block, at y = x

    The bound is that of Choromanski et al. 2020, theorem 2. A right block fails once in a million times.
    """
    x, _ = pair(case)  # y = x, for which there is most to gain
    d, kernel = len(x), exp(float(x @ x))
    away = (products(many(case, d, orthogonal=True), x, x) - kernel).reshape(-1, d)
    covariance = (away.sum(1).square() - away.square().sum(1)) / (d * (d - 1))  # the mean over pairs, block by block
    bound, error = -2 / (d + 2) * (kernel - 1 / kernel) ** 2, sqrt(float(covariance.var()) / len(covariance))
    return max(0.0, float(covariance.mean()) - bound) / max(error, 1e-9)


@law(*EXPONENTIAL, fault=Fault(redraw=_short), id="random-features-rbf", **STATISTICAL)
def they_make_the_gaussian_kernel_too(case: Case) -> float:
    """E φ(√2γ x)ᵀφ(√2γ y) exp(-γ‖x‖²-γ‖y‖²) = exp(-γ‖x-y‖²)

    A right block fails once in 500,000 times.
    """
    (x, y), gamma = pair(case), case.real("gamma", 0.2, 0.5)
    shrink = exp(-gamma * float(x.square().sum() + y.square().sum()))
    a, b = sqrt(2 * gamma) * x, sqrt(2 * gamma) * y
    samples, wanted = shrink * products(many(case, len(x)), a, b), exp(-gamma * float((x - y).square().sum()))
    return z_score(samples, wanted, shrink**2 * VARIANCE[case.subject.name](a, b))


# Laws of waves


def _cosines_only(self: Any, x: Tensor) -> Any:
    y = self.right(x)
    y[..., self.num_features :] = 0
    return sqrt(2) * y


@law(FOURIER, fault=Fault(forward=lambda self, x: self.right(x / sqrt(2))), id="random-features-rbf", **STATISTICAL)
def the_kernel_is_the_gaussian_on_average(case: Case) -> float:
    """E φ(x)ᵀφ(y) = exp(-γ‖x-y‖²), and a direction has the variance ½ (1 - exp(-2γ‖x-y‖²))²

    A right block fails once in 500,000 times.
    """
    x, y, gamma, kernel = gaussian(case, case.integer("dim", 2, 4))
    return z_score(products(many(case, len(x), gamma=gamma), x, y), kernel, (1 - kernel**2) ** 2 / 2)


@law(FOURIER, fault=Fault(forward=_cosines_only))
def only_the_difference_matters(case: Case) -> float:
    """φ(x + c)ᵀφ(y + c) = φ(x)ᵀφ(y), so that all features are of one length"""
    x, y, gamma, _ = gaussian(case, case.integer("dim", 1, 4))
    block = case.build(dim=len(x), num_features=case.integer("num_features", 1, 6), gamma=gamma)
    c = case.tensor("c", len(x)).detach()
    return difference(block(x + c) @ block(y + c), block(x) @ block(y))
