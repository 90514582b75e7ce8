"""What is known of bounds and estimates of the evidence: on models whose evidence is known."""

import math
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution, Exponential, MultivariateNormal, Normal, kl_divergence

from gradlab.maths import latent as ours
from gradlab.maths.quadrature import integrate
from gradlab.nn.latent import Codes, reparametrise
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

for _function in (ours.evidence_estimate, ours.weighted_bound, ours.elbo, reparametrise):
    subject(f"maths.{_function.__name__}")(_function)


class Mixture:
    """z is one of a few, and x normal around the centre of that one: all sets of draws can be gone through."""

    def __init__(self, shares: Tensor, centres: Tensor):
        self.prior, self.centres = Categorical(shares), centres

    def likelihood(self, z: Tensor) -> Distribution:
        return Normal(self.centres[z], 1.0)

    def evidence(self, x: Tensor) -> Tensor:
        joint: Tensor = self.prior.probs.log() + Normal(self.centres, 1.0).log_prob(x)  # type: ignore[no-untyped-call]
        return joint.logsumexp(-1)


def _mixture(case: Case) -> tuple[Mixture, Tensor, int]:
    """With an x, and how many there are to draw from."""
    kinds = case.integer("kinds", 2, 4)
    shares, centres = case.distribution("shares", kinds).detach(), case.tensor("centres", kinds, scale=2.0).detach()
    return Mixture(shares, centres), case.tensor("x").detach(), kinds


def _all_draws(q: Distribution, kinds: int, count: int) -> tuple[Tensor, Tensor]:
    """Every set of so many draws, one in each column, and its probability."""
    draws = torch.tensor([*product(range(kinds), repeat=count)]).T
    log_p: Tensor = q.log_prob(draws)
    return draws, log_p.sum(0).exp()


def _mean_of_logs(model: Any, x: Tensor, z: Tensor, q: Any = None) -> tuple[Tensor, Tensor]:
    log_w = ours.log_weights(model, x, z, q)
    return log_w.mean(0), log_w.mean(0)


def _sum(model: Any, x: Tensor, z: Tensor, q: Any = None) -> tuple[Tensor, Tensor]:
    """Divided by nothing."""
    log_w = ours.log_weights(model, x, z, q)
    return log_w.logsumexp(0), log_w.logsumexp(0)


@law("maths.evidence_estimate", id="mc-marginal-likelihood", fault=[_mean_of_logs, _sum])
def the_mean_likelihood_of_draws_from_the_prior_is_right_on_average(case: Case) -> float:
    """E (1/M) Σ p(x|Zᵢ) = p(x) and E log (1/M) Σ p(x|Zᵢ) ≤ log p(x) over all draws of M, Zᵢ ~ p"""
    (model, x, kinds), count = _mixture(case), case.integer("M", 1, 4)
    draws, probability = _all_draws(model.prior, kinds, count)
    log_mean, _ = case.build()(model, x, draws)
    true = model.evidence(x)
    return max(difference(probability @ log_mean.exp(), true.exp()), excess(probability @ log_mean, true))


def _without_q(model: Any, x: Tensor, z: Tensor, q: Any = None) -> tuple[Tensor, Tensor]:
    return ours.evidence_estimate(model, x, z)


@law("maths.evidence_estimate", id="importance-sampling", fault=[_without_q, _mean_of_logs])
def draws_from_elsewhere_count_by_how_much_rarer_they_are(case: Case) -> float:
    """E_q (1/M) Σ p(x|Zᵢ) p(Zᵢ) / q(Zᵢ) = p(x), if q is nowhere 0; and one draw is enough if q is the posterior"""
    (model, x, kinds), count = _mixture(case), case.integer("M", 1, 3)
    q, estimate = Categorical(case.distribution("q", kinds).detach()), case.build()
    draws, probability = _all_draws(q, kinds, count)
    joint: Tensor = model.prior.probs.log() + Normal(model.centres, 1.0).log_prob(x)  # type: ignore[no-untyped-call]
    posterior, one = Categorical(logits=joint), torch.arange(kinds)[None]
    true = model.evidence(x)
    known = estimate(model, x, one, posterior)[0]
    return difference((probability @ estimate(model, x, draws, q)[0].exp(), known), (true.exp(), true.expand(kinds)))


def _undivided(model: Any, x: Tensor, z: Tensor, q: Any) -> Tensor:
    return ours.log_weights(model, x, z, q).logsumexp(0)


@law("maths.weighted_bound", fault=_undivided)
def more_draws_make_a_higher_bound(case: Case) -> float:
    """ELBO = L₁ ≤ L₂ ≤ L₃ ≤ log p(x), over all sets of draws from q"""
    model, x, kinds = _mixture(case)
    q, bound = Categorical(case.distribution("q", kinds).detach()), case.build()
    means = []
    for count in (1, 2, 3):
        draws, probability = _all_draws(q, kinds, count)
        means.append(probability @ bound(model, x, draws, q))
    joint: Tensor = model.prior.probs.log() + Normal(model.centres, 1.0).log_prob(x)  # type: ignore[no-untyped-call]
    first = (q.probs * (joint - q.probs.log())).sum()
    rising = [excess(low, high) for low, high in zip(means, [*means[1:], model.evidence(x)], strict=True)]
    return max(difference(means[0], first), *rising)


# Linear maps with normal noise


def _linear(case: Case) -> tuple[ours.LinearGaussian, Tensor, MultivariateNormal]:
    """A model, some x, and any q."""
    numbers, latent, rows = (case.integer(name, 1, 3) for name in ("numbers", "latent", "rows"))
    weight, bias = case.tensor("weight", numbers, latent).detach(), case.tensor("bias", numbers).detach()
    model = ours.LinearGaussian(weight, bias, case.real("noise", 0.3, 2))
    root = case.tensor("root", latent, latent).detach()
    covariance = root @ root.T + 0.1 * torch.eye(latent, dtype=torch.float64)
    q = MultivariateNormal(case.tensor("mean", rows, latent).detach(), covariance)
    return model, case.tensor("x", rows, numbers).detach(), q


def _printed(model: Any, x: Tensor, q: Any) -> Tensor:
    """With the sign and the direction of the divergence turned round."""
    divergence: Tensor = kl_divergence(model.prior, q)
    result: Tensor = model.expected_log_likelihood(x, q) + divergence
    return result


def _without_divergence(model: Any, x: Tensor, q: Any) -> Tensor:
    result: Tensor = model.expected_log_likelihood(x, q)
    return result


@law("maths.elbo", id="elbo", fault=[_printed, _without_divergence])
def it_is_below_the_evidence_and_reaches_it_at_the_posterior(case: Case) -> float:
    """L(q) ≤ log p(x) = L(p(·|x))"""
    (model, x, q), bound = _linear(case), case.build()
    true = model.evidence(x)
    return max(excess(bound(model, x, q), true), difference(bound(model, x, model.posterior(x)), true))


@law("maths.elbo", id="elbo-gap", fault=[_printed, _without_divergence])
def what_it_lacks_is_the_divergence_of_q_from_the_posterior(case: Case) -> float:
    """log p(x) = L + KL(q‖p(·|x))"""
    model, x, q = _linear(case)
    gap: Tensor = kl_divergence(q, model.posterior(x))
    return difference(case.build()(model, x, q) + gap, model.evidence(x))


def _sigma_points(q: MultivariateNormal) -> Tensor:
    """Points of which the mean of any quadratic function is its expectation."""
    size = q.mean.shape[-1]
    directions = math.sqrt(size) * q.scale_tril.mT
    shifts = torch.cat([directions, -directions], -2)
    return q.mean + shifts.movedim(-2, 0)


@law("maths.elbo", id="vae-approach2", fault=[_printed, _without_divergence])
def it_is_the_fit_less_the_divergence_from_the_prior(case: Case) -> float:
    """-KL(q‖p_Z) + E_q log p(x|Z) = E_q log [p(x, Z) / q(Z)]"""
    model, x, q = _linear(case)
    return difference(case.build()(model, x, q), ours.log_weights(model, x, _sigma_points(q), q).mean(0))


@law("maths.elbo", id="elbo", fault=[_printed, _without_divergence])
def of_an_exponential_prior_it_is_the_integral(case: Case) -> float:
    """L = ∫ q log(p(x, z) / q) dz ≤ log p(x) for z ~ Exp(θ), x|z ~ N(z, 1), q = Exp(φ)"""
    rate, other = (case.positive(name, low=0.3, high=3.0).detach() for name in ("θ", "φ"))
    x, model, q = case.tensor("x").detach(), ours.ExponentialPrior(rate), Exponential(other, validate_args=False)
    model_prior = Exponential(rate, validate_args=False)

    def term(z: Tensor) -> Tensor:
        log_q: Tensor = q.log_prob(z)  # type: ignore[no-untyped-call]
        log_joint: Tensor = model_prior.log_prob(z) + Normal(z, 1.0).log_prob(x)  # type: ignore[no-untyped-call]
        return log_q.exp() * torch.where(log_q > -500, log_joint - log_q, 0.0)

    got = case.build()(model, x, q)
    return max(difference(got, integrate(term, 0.0, math.inf)), excess(got, model.evidence(x)))


# Gradients through draws


def _times_the_variance(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Codes:
    return Codes(mean + log_variance.exp() * noise, noise)


@law("maths.reparametrise", id="reparametrisation-trick", fault=_times_the_variance)
def gradients_through_noise_are_those_of_the_mean(case: Case) -> float:
    """E_ε ∇f(μ + σε) = ∇E f(Z), where E Z³ + a Z² = μ³ + 3μσ² + a(μ² + σ²), by Gauss and Hermite's quadrature"""
    shape = case.integer("rows", 1, 3), case.integer("z", 1, 3)
    mean, log_variance, a = case.tensor("mean", *shape), case.tensor("log variance", *shape), case.real("a", -2, 2)
    nodes, weights = (torch.from_numpy(each) for each in np.polynomial.hermite_e.hermegauss(4))
    noise = nodes[:, None, None].expand(-1, *shape)
    z = case.build()(mean, log_variance, noise).z
    got = torch.tensordot(weights / weights.sum(), z**3 + a * z**2, 1)
    variance = log_variance.exp()
    wanted = mean**3 + 3 * mean * variance + a * (mean**2 + variance)
    return difference(got, wanted, (mean, log_variance))
