"""Laws of bounds, where everything is known: linear maps of normal codes and noise."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from gradlab.data import Targets
from gradlab.nn import latent
from gradlab.tasks.generative import VariationalAutoencoder
from gradlab.tasks.generative import vae as vae_module
from gradlab.tasks.generative.estimators import elbo_estimates

NOISE = 0.6
LATENT, NUMBERS, ROWS = 3, 5, 8


class Linear:
    """x = Wz + b + noise: probabilistic PCA. Any q may be set."""

    def __init__(self, orthogonal=False):
        generator = torch.Generator().manual_seed(4)
        self.map = torch.randn(NUMBERS, LATENT, generator=generator, dtype=torch.float64)
        if orthogonal:  # so that the posterior has independent coordinates, as q has
            self.map = torch.linalg.qr(self.map)[0] * torch.tensor([0.5, 1.0, 2.0])
        self.bias = torch.randn(NUMBERS, generator=generator, dtype=torch.float64)
        self.x = torch.randn(ROWS, NUMBERS, generator=generator, dtype=torch.float64)
        self.q = [torch.randn(ROWS, LATENT, generator=generator, dtype=torch.float64) for _ in range(2)]

    def encode(self, x):
        return tuple(self.q)

    def decode(self, z):
        return z @ self.map.T + self.bias

    @property
    def log_likelihood(self):
        covariance = self.map @ self.map.T + NOISE**2 * torch.eye(NUMBERS, dtype=torch.float64)
        return MultivariateNormal(self.bias, covariance).log_prob(self.x)

    @property
    def posterior(self):
        covariance = torch.linalg.inv(torch.eye(LATENT, dtype=torch.float64) + self.map.T @ self.map / NOISE**2)
        return MultivariateNormal((self.x - self.bias) @ self.map @ covariance / NOISE**2, covariance)

    @property
    def gap(self):
        """KL(q ‖ posterior)"""
        mean, log_variance = self.q
        return kl_divergence(MultivariateNormal(mean, torch.diag_embed(log_variance.exp())), self.posterior)

    def at_the_posterior(self):
        variance = self.posterior.covariance_matrix.diagonal(dim1=-2, dim2=-1).expand(ROWS, LATENT)
        self.q = [self.posterior.mean, variance.log()]
        return self


def task_of(**values):
    return VariationalAutoencoder(Targets(), decoder="gaussian", scale=NOISE, **values)


def sigma_points(mean, log_variance, samples):
    """Draws whose mean of any quadratic function is exactly its expectation: there is no luck in these laws."""
    points = math.sqrt(LATENT) * torch.cat([torch.eye(LATENT), -torch.eye(LATENT)]).double()
    assert samples == len(points)
    noise = points[:, None].expand(samples, *mean.shape)
    return latent.reparametrise(mean, log_variance, noise)


def elbo(model, monkeypatch, estimator):
    monkeypatch.setattr(vae_module, "draw", sigma_points)
    task = task_of(estimator=estimator, samples=2 * LATENT)
    losses = task.objectives()["bound"].loss(model, {"inputs": model.x})
    return -sum(part for part, _ in losses.values())


@pytest.mark.parametrize("estimator", ["closed-form", "monte-carlo"])
def test_what_the_elbo_lacks_is_the_divergence_of_q_from_the_posterior(estimator, monkeypatch):
    """log p(x) = ELBO + KL(q ‖ p(z | x)), for any q"""
    model = Linear()
    for shift in (0.0, 0.7, -2.0):
        model.q = [part + shift for part in model.q]
        bound = elbo(model, monkeypatch, estimator)
        torch.testing.assert_close(bound + model.gap.sum(), model.log_likelihood.sum(), rtol=1e-10, atol=1e-8)
        assert bound < model.log_likelihood.sum()
    model = Linear(orthogonal=True).at_the_posterior()
    torch.testing.assert_close(elbo(model, monkeypatch, estimator), model.log_likelihood.sum(), rtol=1e-10, atol=1e-8)


def printed(mean, log_variance):
    """With the sign of the logarithm turned round."""
    return 0.5 * (log_variance + log_variance.exp() + mean**2 - 1)


def other_direction(mean, log_variance):
    """KL(p ‖ q)"""
    return 0.5 * (log_variance + (1 + mean**2) / log_variance.exp() - 1)


@pytest.mark.parametrize("fault", [printed, other_direction])
def test_the_law_finds_a_wrong_divergence(fault, monkeypatch):
    model = Linear()
    monkeypatch.setattr(vae_module, "kl_each", fault)
    bound = elbo(model, monkeypatch, "closed-form")
    assert abs(bound + model.gap.sum() - model.log_likelihood.sum()) > 1


def test_both_estimates_of_the_elbo_have_one_mean_and_each_has_less_variance_somewhere(capsys):
    likelihood = task_of().likelihood
    far, at_posterior = Linear(), Linear(orthogonal=True).at_the_posterior()
    far.q[0] = far.q[0] + 2
    lines = [f"{'variance of one draw':24}{'closed-form':>12}{'monte-carlo':>12}"]
    found = {}
    for name, model in {"q far from posterior": far, "q is the posterior": at_posterior}.items():
        torch.manual_seed(1)
        both = elbo_estimates(model, likelihood, model.x, 20_000)
        closed, drawn = both["closed-form"], both["monte-carlo"]
        error = ((closed.variance + drawn.variance) / 20_000).sqrt()
        assert ((closed.mean - drawn.mean).abs() < 4.5 * error + 1e-9).all()
        assert ((closed.mean - model.log_likelihood + model.gap).abs() < 4.5 * error + 1e-9).all()
        found[name] = closed.variance.mean().item(), drawn.variance.mean().item()
        lines.append(f"{name:24}{found[name][0]:12.4f}{found[name][1]:12.4f}")
    print("\n".join(lines))
    assert found["q is the posterior"][1] < 1e-20 < 0.1 < found["q is the posterior"][0]
    assert found["q far from posterior"][0] < found["q far from posterior"][1]
    assert "monte-carlo" in capsys.readouterr().out


def weighted(model, count, repeats=3000):
    """Bounds of every example by `count` draws, many times."""
    likelihood = task_of().likelihood
    mean, log_variance = model.encode(model.x)
    codes = latent.draw(mean, log_variance, count * repeats)
    weights = likelihood.log_prob(model, model.x, model.decode(codes.z)) - latent.log_ratio(codes, log_variance)
    parts = weights.view(count, repeats * ROWS)
    return latent.importance_weighted(parts).view(repeats, ROWS)


def test_the_importance_weighted_bound_rises_with_the_draws_and_stays_below_the_likelihood():
    """ELBO = L₁ ≤ L₂ ≤ L₅ ≤ … ≤ log p(x), and it comes close"""
    model = Linear()
    model.q[1] = torch.zeros_like(model.q[1])  # wide enough for weights with a variance
    found = {count: weighted(model, count) for count in (1, 2, 5, 20, 100)}
    means = [one.mean(0) for one in found.values()]
    errors = [one.std(0) / 3000**0.5 for one in found.values()]
    truth = model.log_likelihood
    torch.testing.assert_close(means[0], truth - model.gap, rtol=0, atol=4.5 * errors[0].max().item())
    for low, high, error in zip(means, means[1:], errors, strict=False):
        assert (high > low - 4 * error).all()
        assert high.sum() > low.sum()
    assert all((mean < truth + 4 * error).all() for mean, error in zip(means, errors, strict=True))
    assert (truth - means[-1]).mean() < 0.2 * (truth - means[0]).mean()
    # Without the division by their number, it would be no bound.
    assert (means[-1] + math.log(100) > truth).any()
