"""The laws of the feature maps. Each comes with a version of the block that breaks it."""

from math import exp, sqrt

import torch
from torch import Tensor, nn

from gradlab.nn.attention import features as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.families.linear_attention.features import (
    STATISTICAL,
    directions,
    gaussian,
    many,
    pair,
    products,
    z_above,
    z_score,
)

EXPONENTIAL = ("feature.positive", "feature.cosh")


# Positive maps


class Rounded(ours.ELUFeatures):
    """As the formula is written: the 1 swallows what is left of a negative entry."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.elu(x.float()) + 1


class Centred(ours.PositiveFeatures):
    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return y - y.mean(-1, keepdim=True)


@law("feature.elu", *EXPONENTIAL, wrong={"feature.elu": Rounded, **dict.fromkeys(EXPONENTIAL, Centred)})
def features_are_positive(case: Case) -> float:
    """φ(x) > 0, in float32 too"""
    d = case.integer("dim", 1, 4)
    x = case.tensor("x", 8, d).detach().float()
    if case.subject.name == "feature.elu":
        return float((case.build().float()(20 * x) <= 0).sum())
    return float((case.build(dim=d, num_features=case.integer("num_features", 2, 6)).float()(x) <= 0).sum())


def exp_variance(x: Tensor, y: Tensor) -> float:
    """Of e^(ωᵀ(x+y)) e^(-‖x‖²/2 - ‖y‖²/2)"""
    s = float((x + y).square().sum())
    return exp(-float(x.square().sum() + y.square().sum())) * (exp(2 * s) - exp(s))


def cosh_variance(x: Tensor, y: Tensor) -> float:
    """Of cosh(ωᵀ(x+y)) e^(-‖x‖²/2 - ‖y‖²/2)"""
    s = float((x + y).square().sum())
    return exp(-float(x.square().sum() + y.square().sum())) * (exp(2 * s) / 2 + 1 / 2 - exp(s))


VARIANCE = {"feature.positive": exp_variance, "feature.cosh": cosh_variance}


class WithoutNorm(ours.PositiveFeatures):
    """The factor e^(-‖x‖²/2) is forgotten."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (x.square().sum(-1, keepdim=True) / 2).exp()


class WholeNorm(ours.PositiveFeatures):
    """The factor is e^(-‖x‖²), without the half."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (-x.square().sum(-1, keepdim=True) / 2).exp()


class Short(ours.PositiveFeatures):
    """Directions of unit length on average: N(0, I/d) instead of N(0, I)."""

    def redraw(self, generator: torch.Generator | None = None) -> None:
        super().redraw(generator)
        self.omega /= sqrt(self.dim)


class OneSign(ours.CoshFeatures):
    """The second half of the features repeats the first."""

    def _projections(self, x: Tensor) -> Tensor:
        return super()._projections(x)[..., : self.num_features].repeat(1, 2)


@law(*EXPONENTIAL, wrong=WithoutNorm, **STATISTICAL)
def the_kernel_is_the_exponential_on_average(case: Case) -> float:
    """E φ(x)ᵀφ(y) = exp(xᵀy)

    For independent and for orthogonal directions. A right block fails once in 250,000 times.
    """
    d = case.integer("dim", 2, 4)
    x, y = pair(case, d)
    variance = VARIANCE[case.subject.name](x, y)  # orthogonal directions have less
    free, orthogonal = (products(many(case, d, orthogonal=orthogonal), x, y) for orthogonal in (False, True))
    return max(z_score(samples, exp(float(x @ y)), variance) for samples in (free, orthogonal))


@law(*EXPONENTIAL, wrong=WholeNorm, **STATISTICAL)
def the_mean_exponential_of_a_normal_number_is_known(case: Case) -> float:
    """E exp(ωᵀx) = exp(‖x‖²/2), so that E φ(x)ᵀφ(0) = 1

    A right block fails once in 500,000 times.
    """
    d = case.integer("dim", 2, 4)
    block = many(case, d)
    x, _ = pair(case, d)
    return z_score(products(block, x, torch.zeros_like(x)), 1.0, VARIANCE[case.subject.name](x, torch.zeros_like(x)))


@law(*EXPONENTIAL, wrong={"feature.positive": Short, "feature.cosh": OneSign}, **STATISTICAL)
def the_variance_of_a_direction_is_known(case: Case) -> float:
    """Var = exp(-‖x‖²-‖y‖²) (e²ˢ - eˢ), and with both signs (½e²ˢ + ½ - eˢ), where s = ‖x + y‖²

    A right block fails once in 500,000 times.
    """
    d = case.integer("dim", 2, 4)
    block = many(case, d)
    x, y = (v / 2 for v in pair(case, d))  # the fourth powers of the features of longer ones are far from normal
    squares = (products(block, x, y) - exp(float(x @ y))).square()
    return z_score(squares, VARIANCE[case.subject.name](x, y))


@law("feature.cosh", wrong=OneSign, **STATISTICAL)
def both_signs_vary_less_than_half_as_much(case: Case) -> float:
    """Var cosh(ωᵀ(x+y)) ≤ ½ Var exp(ωᵀ(x+y)): better than twice as many directions

    Measured for both with the same directions. A right block fails once in a million times.
    """
    d = case.integer("dim", 2, 4)
    block = many(case, d)
    x, y = pair(case, d)
    one_sign = ours.PositiveFeatures(d, block.num_features).double()
    one_sign.omega.copy_(directions(block))
    kernel = exp(float(x @ y))
    both, one = ((products(f, x, y) - kernel).square() for f in (block, one_sign))
    return z_above(both - one / 2, 0.0)


@law(*EXPONENTIAL, wrong=lambda orthogonal, **settings: ours.PositiveFeatures(**settings), **STATISTICAL)
def directions_at_right_angles_vary_less(case: Case) -> float:
    """Cov(i, j) ≤ -2/(d+2) (exp(‖x‖²) - exp(-‖x‖²))² for two of a block, at y = x

    The bound is that of Choromanski et al. 2020, theorem 2. A right block fails once in a million times.
    """
    d = case.integer("dim", 2, 4)
    block = many(case, d, orthogonal=True)
    x, _ = pair(case, d)  # y = x, for which there is most to gain
    kernel = exp(float(x @ x))
    away = (products(block, x, x) - kernel).reshape(-1, d)
    covariance = (away.sum(1).square() - away.square().sum(1)) / (d * (d - 1))  # the mean over pairs, block by block
    return z_above(covariance, -2 / (d + 2) * (kernel - 1 / kernel) ** 2)


@law(*EXPONENTIAL, wrong=Short, **STATISTICAL)
def they_make_the_gaussian_kernel_too(case: Case) -> float:
    """E φ(√2γ x)ᵀφ(√2γ y) exp(-γ‖x‖²-γ‖y‖²) = exp(-γ‖x-y‖²)

    A right block fails once in 500,000 times.
    """
    d = case.integer("dim", 2, 4)
    block = many(case, d)
    x, y = pair(case, d)
    gamma = case.real("gamma", 0.2, 0.5)
    shrink = exp(-gamma * float(x.square().sum() + y.square().sum()))
    a, b = sqrt(2 * gamma) * x, sqrt(2 * gamma) * y
    wanted = exp(-gamma * float((x - y).square().sum()))
    return z_score(shrink * products(block, a, b), wanted, shrink**2 * VARIANCE[case.subject.name](a, b))


# Waves


class HalfAngle(ours.FourierFeatures):
    """√γ in place of √2γ."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x / sqrt(2))


class CosinesOnly(ours.FourierFeatures):
    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        y[..., self.num_features :] = 0
        return sqrt(2) * y


@law("feature.fourier", wrong=HalfAngle, **STATISTICAL)
def the_kernel_is_the_gaussian_on_average(case: Case) -> float:
    """E φ(x)ᵀφ(y) = exp(-γ‖x-y‖²), and a direction has the variance ½ (1 - exp(-2γ‖x-y‖²))²

    A right block fails once in 500,000 times.
    """
    d = case.integer("dim", 2, 4)
    x, y, gamma, kernel = gaussian(case, d)
    block = many(case, d, gamma=gamma)
    return z_score(products(block, x, y), kernel, (1 - kernel**2) ** 2 / 2)


@law("feature.fourier", wrong=CosinesOnly)
def only_the_difference_matters(case: Case) -> float:
    """φ(x + c)ᵀφ(y + c) = φ(x)ᵀφ(y)"""
    d = case.integer("dim", 1, 4)
    x, y, gamma, _ = gaussian(case, d)
    block = case.build(dim=d, num_features=case.integer("num_features", 1, 6), gamma=gamma)
    c = case.tensor("c", d).detach()
    return difference(block(x + c) @ block(y + c), block(x) @ block(y))


@law("feature.fourier", wrong=CosinesOnly)
def features_have_length_one(case: Case) -> float:
    """‖φ(x)‖ = 1"""
    d = case.integer("dim", 1, 4)
    x, _, gamma, _ = gaussian(case, d)
    length = case.build(dim=d, num_features=case.integer("num_features", 1, 6), gamma=gamma)(x).norm()
    return difference(length, torch.ones_like(length))
