"""What is known of maximum likelihood: exponential families, Gumbel's distribution, generalised linear models."""

from typing import Any

import torch
from torch import Tensor

from gradlab.maths.glm import FAMILIES, FamilyName, LinearModel, fit_glm
from gradlab.maths.probability import exponential_family as families
from gradlab.maths.probability.exponential_family import ExponentialFamily
from gradlab.maths.probability.gumbel import Gumbel, fit_gumbel, gumbel_nll
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

subject("maths.exponential_family.fit")(ExponentialFamily.fit)
subject("maths.exponential_family.covariance")(ExponentialFamily.covariance)
subject("maths.gumbel_nll")(gumbel_nll)
subject("maths.fit_gumbel")(fit_gumbel)
subject("maths.fit_glm")(fit_glm)


# Exponential families


def _values(case: Case, name: str) -> tuple[ExponentialFamily, Tensor]:
    """A family, and draws that it can have."""
    count, generator = case.integer("draws", 6, 40), case.generator("draws")
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    ends = torch.arange(count) % 3  # so that no value is missing
    draws: dict[str, tuple[ExponentialFamily, Tensor]] = {
        "bernoulli": (families.BERNOULLI, (ends > 0).double()),
        "poisson": (families.POISSON, (4 * uniform).round() + ends),
        "exponential": (families.EXPONENTIAL, -uniform.log()),
        "normal": (families.NORMAL, 3 * uniform + ends),
        "gamma": (families.GAMMA, 0.2 + 3 * uniform),
        "categorical": (families.categorical(3), ends.double()),
    }
    return draws[case.choice(name, tuple(draws))]


@law("maths.exponential_family.fit", fault=lambda family, x: torch.tensor(family.start, dtype=torch.float64))
def the_best_parameters_match_the_moments(case: Case) -> float:
    """E T(X) = ∇A(θ̂) = mean of T(xᵢ)"""
    family, x = _values(case, "family")
    return difference(family.mean(case.build()(family, x)), family.statistics(x).mean(0))


@law("maths.exponential_family.covariance", fault=lambda family, theta: torch.diag(family.covariance(theta).diagonal()))
def the_curvature_is_the_covariance_of_the_statistics(case: Case) -> float:
    """∇²A(θ) = Cov T(X), for three classes by summing over them"""
    family, classes = families.categorical(3), torch.arange(3, dtype=torch.float64)
    theta = case.tensor("θ", 2).detach()
    p, statistics = family.log_density(classes, theta).exp(), family.statistics(classes)
    apart = statistics - p @ statistics
    got = case.build()(family, theta)
    return difference((got, p.sum()), ((p[:, None] * apart).mT @ apart, torch.ones((), dtype=torch.float64)))


@peer("maths.exponential_family.fit", "scipy.stats.gamma.fit", tolerance=1e-6, most_cases=10)
def scipys_gamma(case: Case) -> float:
    from scipy.stats import gamma  # type: ignore[import-untyped]

    x = (
        case.positive("x", case.integer("draws", 5, 30), low=0.2, high=4.0).detach()
        + torch.tensor([0.0, 1.0]).repeat(50)[: case.drawn["draws"]]
    )
    shape, _, scale = gamma.fit(x.numpy(), floc=0)
    return difference(case.build()(families.GAMMA, x), torch.tensor([shape - 1, -1 / scale], dtype=torch.float64))


# Gumbel's distribution


def _gumbel_draws(case: Case) -> Tensor:
    uniform = torch.rand(case.integer("draws", 3, 30), generator=case.generator("draws"), dtype=torch.float64)
    return case.real("location", -3, 3) - case.real("scale", 0.2, 3) * (-uniform.log()).log()


@peer("maths.gumbel_nll", "scipy.stats.gumbel_r")
def scipys_gumbel(case: Case) -> float:
    from scipy.stats import gumbel_r

    x, location, scale = case.tensor("x", 4).detach(), case.real("μ", -2, 2), case.real("β", 0.5, 2)
    return difference(case.build()(x, location, scale), torch.from_numpy(-gumbel_r(location, scale).logpdf(x.numpy())))


@peer("maths.fit_gumbel", "scipy.stats.gumbel_r.fit", tolerance=1e-7)
def scipys_fit(case: Case) -> float:
    from scipy.stats import gumbel_r

    x = _gumbel_draws(case)
    return difference(
        tuple(case.build()(x)), tuple(torch.tensor(v, dtype=torch.float64) for v in gumbel_r.fit(x.numpy()))
    )


def _by_moments(x: Tensor) -> Gumbel:
    scale = x.std() * 6**0.5 / torch.pi
    return Gumbel(x.mean() - 0.5772156649015329 * scale, scale)


@law("maths.fit_gumbel", fault=_by_moments)
def both_slopes_of_the_likelihood_vanish(case: Case) -> float:
    """Σ e^(-zᵢ) = N and Σ zᵢ(1 - e^(-zᵢ)) = N for zᵢ = (xᵢ - μ)/β"""
    x = _gumbel_draws(case)
    location, scale = case.build()(x)
    z = (x - location) / scale
    ones = torch.ones(2, dtype=torch.float64)
    return difference(torch.stack([(-z).exp().mean(), (z * (1 - (-z).exp())).mean()]), ones)


# Generalised linear models


def regression(case: Case, family: FamilyName) -> tuple[Tensor, Tensor]:
    """Inputs, and targets drawn from a model of the family whose classes are far from separable."""
    n, d = case.integer("examples", 60, 90), case.integer("features", 1, 3)
    x = torch.randn(n, d, generator=case.generator("x"), dtype=torch.float64)
    classes = 3 if family == "categorical" else 1
    eta = 0.5 * x @ torch.randn(d, classes, generator=case.generator("weights"), dtype=torch.float64)
    uniform = torch.rand(n, generator=case.generator("y"), dtype=torch.float64)
    noise = torch.randn(n, generator=case.generator("noise"), dtype=torch.float64)
    y = {
        "gaussian": lambda: eta[:, 0] + noise,
        "bernoulli": lambda: (uniform < eta[:, 0].sigmoid()).double(),
        "poisson": lambda: torch.poisson(eta[:, 0].exp(), generator=case.generator("counts")),
        "categorical": lambda: (uniform[:, None] > eta.softmax(-1).cumsum(-1)).sum(-1).double(),
    }
    return x, y[family]()


def _family(case: Case) -> FamilyName:
    return case.choice("family", tuple(FAMILIES))


def _one_step(x: Tensor, y: Tensor, family: FamilyName) -> LinearModel:
    """Least squares, whatever the family is: the first step of Newton's method, but for a factor."""
    own = fit_glm(x, y, family)
    line = fit_glm(x, y, "gaussian")
    return LinearModel(family, line.weight.expand_as(own.weight), line.bias.expand_as(own.bias), *_rest(own))


def _rest(own: LinearModel) -> tuple[Any, ...]:
    return own.weight_error, own.bias_error, own.nll, own.steps


@law("maths.fit_glm", fault=_one_step)
def residuals_are_orthogonal_to_every_column(case: Case) -> float:
    r"""$X^\top (y - g^{-1}(X \hat\beta)) = 0$, also for the column of ones: the mean prediction is the mean target"""
    family = _family(case)
    x, y = regression(case, family)
    wanted = torch.nn.functional.one_hot(y.long())[:, 1:].double() if family == "categorical" else y[:, None]
    model = case.build()(x, y, family)
    slopes = torch.nn.functional.pad(x, (1, 0), value=1.0).mT @ (model.mean(x) - wanted)
    return float(slopes.abs().max()) / len(x)


@law("maths.fit_glm", fault=_one_step)
def nearby_weights_are_less_likely(case: Case) -> float:
    r"""$L(\hat\beta) \le L(\beta)$, with the likelihoods of `gradlab.nn.losses`"""
    family = _family(case)
    x, y = regression(case, family)
    targets = torch.nn.functional.one_hot(y.long())[:, 1:].double() if family == "categorical" else y[:, None]
    model = case.build()(x, y, family)

    def nll(by: float) -> Tensor:
        away = by * torch.randn(model.weight.shape, generator=case.generator(f"{by}"), dtype=torch.float64)
        return FAMILIES[family].nll(x @ (model.weight + away) + model.bias + by, targets).sum()

    return max(0.0, *(float(nll(0.0) - nll(by)) for by in (-0.3, -0.01, 0.01, 0.3)))


@peer("maths.fit_glm", "statsmodels.GLM and MNLogit", tolerance=1e-7, most_cases=20, needs="statsmodels")
def statsmodels_weights_and_errors(case: Case) -> float:
    import statsmodels.api as sm  # type: ignore[import-untyped]

    family = _family(case)
    x, y = (value.numpy() for value in regression(case, family))
    if family == "categorical":
        fit = sm.MNLogit(y, sm.add_constant(x)).fit(method="newton", maxiter=100, disp=0)
    else:
        kinds = {"gaussian": "Gaussian", "bernoulli": "Binomial", "poisson": "Poisson"}
        fit = sm.GLM(y, sm.add_constant(x), family=getattr(sm.families, kinds[family])()).fit(tol=1e-14)
    model = case.build()(x, y, family)
    got = torch.cat([model.bias[None], model.weight]), torch.cat([model.bias_error[None], model.weight_error])
    wanted = (torch.from_numpy(each).reshape(got[0].shape) for each in (fit.params, fit.bse))
    return difference((*got, torch.tensor(-model.nll)), (*wanted, torch.tensor(float(fit.llf))))


@peer("maths.fit_glm", "sklearn.linear_model without penalty", tolerance=1e-4, most_cases=12)
def sklearns_weights(case: Case) -> float:
    from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

    family = _family(case)
    x, y = (value.numpy() for value in regression(case, family))
    logistic = LogisticRegression(C=float("inf"), tol=1e-10, max_iter=1000)
    theirs = {"gaussian": LinearRegression(), "poisson": PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000)}
    fit = theirs.get(family, logistic).fit(x, y)
    weight = torch.from_numpy(fit.coef_).reshape(-1, x.shape[1])
    weight = weight[1:] - weight[:1] if family == "categorical" else weight
    return difference(case.build()(x, y, family).weight, weight.mT)
