"""Models with a latent variable whose evidence is known, beside quadrature, torch and scikit-learn."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats
from sklearn.decomposition import PCA
from torch.distributions import Exponential, MultivariateNormal, Normal

from gradlab.errors import GradlabError
from gradlab.maths.latent import ExponentialPrior, LinearGaussian, elbo, evidence_estimate, weighted_bound


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def closed_form(theta, phi, x):
    return elbo(ExponentialPrior(theta), number(x), Exponential(number(phi))).item()


def by_quadrature(theta, phi, x):
    def term(z):
        joint = math.log(theta) - theta * z + stats.norm.logpdf(x, z)
        return phi * math.exp(-phi * z) * (joint - math.log(phi) + phi * z)

    return integrate.quad(term, 0, 60 / phi, limit=200)[0]


def evidence(theta, x):
    return ExponentialPrior(theta).evidence(number(x)).item()


@pytest.mark.parametrize(("theta", "phi", "x"), [(1.0, 1.0, 2.0), (0.5, 2.0, -1.0), (3.0, 0.7, 0.4)])
def test_the_elbo_of_an_exponential_prior_is_that_of_quadrature_and_below_the_evidence(theta, phi, x):
    assert closed_form(theta, phi, x) == pytest.approx(by_quadrature(theta, phi, x), abs=1e-8)
    direct = integrate.quad(lambda z: theta * math.exp(-theta * z) * stats.norm.pdf(x, z), 0, 40)[0]
    assert evidence(theta, x) == pytest.approx(math.log(direct), abs=1e-7)
    assert closed_form(theta, phi, x) < evidence(theta, x)
    # With 1 / φ² for the second moment it is no bound everywhere.
    assert closed_form(1.0, 1.0, 2.0) + 0.5 > evidence(1.0, 2.0)


@pytest.mark.parametrize("x", [0.5, 2.0, 5.0])
def test_the_best_exponential_is_that_of_twice_the_reciprocal(x):
    found = optimize.minimize(lambda p: -closed_form(*np.exp(p), x), [0.0, 0.0], tol=1e-12)
    assert np.exp(found.x) == pytest.approx([ExponentialPrior.best_rate(x)] * 2, rel=1e-4)


def test_the_law_of_the_gap_holds_of_the_exponential_too():
    """ELBO + KL(q ‖ posterior) = log p(x)"""
    theta, phi, x = 0.8, 1.3, 1.7
    model = ExponentialPrior(theta)

    def term(z):
        posterior = model.log_posterior(number(z), number(x)).item()
        return phi * math.exp(-phi * z) * (math.log(phi) - phi * z - posterior)

    gap = integrate.quad(term, 0, 50)[0]
    assert closed_form(theta, phi, x) + gap == pytest.approx(evidence(theta, x), abs=1e-7)
    mass = integrate.quad(lambda z: math.exp(model.log_posterior(number(z), number(x)).item()), 0, 50)[0]
    assert mass == pytest.approx(1)


def test_far_in_the_tail_the_evidence_is_still_a_number():
    assert math.isfinite(evidence(1.0, -60.0))


@pytest.mark.parametrize("x", [0.0, -1.0, math.nan])
def test_where_the_bound_only_rises_it_is_told(x):
    with pytest.raises(GradlabError, match="has no highest point"):
        ExponentialPrior.best_rate(x)
    rates = [closed_form(rate, rate, min(x, 0.0) if x == x else 0.0) for rate in (1.0, 10.0, 100.0)]
    assert rates == sorted(rates)


# x = 6 with z ~ N(0, 1), x | z ~ N(z, 1): few draws of the prior explain it.


def test_a_proposal_near_the_posterior_has_far_less_variance_than_the_prior():
    torch.manual_seed(0)
    model, x = LinearGaussian(torch.ones(1, 1).double(), torch.zeros(1).double(), 1.0), torch.full((1,), 6.0).double()
    true = Normal(0.0, 2**0.5).log_prob(number(6.0)).exp().item()
    near = MultivariateNormal(number([2.95]), number([[0.55]]))
    variance = {}
    for name, q in {"prior": None, "near": near}.items():
        z = (q or model.prior).sample((200_000,))
        log_weight = evidence_estimate(model, x, z[None], q)[0]  # of one draw each
        weights = log_weight.exp()
        variance[name] = weights.var().item()
        assert weights.mean().item() == pytest.approx(true, abs=4.5 * (variance[name] / 200_000) ** 0.5)
    assert variance["prior"] == pytest.approx(4.9e-7, rel=0.3)
    assert variance["near"] < 1e-4 * variance["prior"]


def test_one_draw_of_the_posterior_tells_the_evidence():
    generator = torch.Generator().manual_seed(0)
    weight, bias, x = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((4, 2), (4,), (3, 4))
    )
    model = LinearGaussian(weight, bias, 0.7)
    posterior = model.posterior(x)
    z = posterior.sample((1,))
    torch.testing.assert_close(weighted_bound(model, x, z, posterior), model.evidence(x))
    torch.testing.assert_close(elbo(model, x, posterior), model.evidence(x))


def test_the_evidence_is_that_of_scikit_learn():
    """Of the model that PCA fits: its components and noise, and its score of each example."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(50, 5))
    pca = PCA(2).fit(data)
    lengths = np.sqrt(pca.explained_variance_ - pca.noise_variance_)
    weight = torch.from_numpy(pca.components_.T * lengths)
    model = LinearGaussian(weight, torch.from_numpy(pca.mean_), pca.noise_variance_**0.5)
    torch.testing.assert_close(model.evidence(torch.from_numpy(data)), torch.from_numpy(pca.score_samples(data)))


def test_models_that_are_none_are_told():
    with pytest.raises(GradlabError, match="needs a bias of"):
        LinearGaussian(torch.ones(3, 2), torch.ones(2), 1.0)
    with pytest.raises(GradlabError, match="noise must be positive"):
        LinearGaussian(torch.ones(3, 2), torch.ones(3), 0.0)
    with pytest.raises(GradlabError, match="rate must be positive"):
        ExponentialPrior(0.0)
    with pytest.raises(GradlabError, match="at least one draw"):
        evidence_estimate(ExponentialPrior(1.0), number(1.0), torch.zeros(0).double())
