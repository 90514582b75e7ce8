"""Models with a hidden variable z, p(x) = ∫ p(z) p(x | z) dz: bounds and estimates of p(x), where it is known too."""

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution, Exponential, Independent, MultivariateNormal, Normal, kl_divergence

from gradlab.errors import GradlabError
from gradlab.nn.importance import importance_estimate
from gradlab.nn.latent import importance_weighted


class LatentModel(Protocol):
    """z is drawn from the prior, and then x from the likelihood of that z."""

    @property
    def prior(self) -> Distribution: ...

    def likelihood(self, z: Tensor) -> Distribution:
        """Of x, for each z."""
        ...


class BoundedModel(LatentModel, Protocol):
    """One of which the mean of log p(x | z) is known in closed form."""

    def expected_log_likelihood(self, x: Tensor, q: Distribution) -> Tensor: ...


def log_weights(model: LatentModel, x: Tensor, z: Tensor, q: Distribution | None = None) -> Tensor:
    r"""Of draws z from q, which is the prior unless it is given.

    $$ \log w(z) = \log p(x \mid z) + \log p(z) - \log q(z) $$
    """
    fit: Tensor = model.likelihood(z).log_prob(x)
    if q is None:
        return fit
    prior: Tensor = model.prior.log_prob(z)
    ratio: Tensor = prior - q.log_prob(z)
    return fit + ratio


def evidence_estimate(model: LatentModel, x: Tensor, z: Tensor, q: Distribution | None = None) -> tuple[Tensor, Tensor]:
    r"""log p(x) by draws along the first axis of z, and how many draws of equal weight would tell as much.

    $$ \log \hat p(x) = \log \frac{1}{M} \sum_m w(z_m), \qquad z_m \sim q $$

    Without q the draws are the prior's, of which most explain nothing: w is tiny, and a few decide. With a q near the
    posterior all weigh alike. Either way the mean of p̂ is p(x), if q(z) > 0 wherever p(x, z) > 0, and the mean of
    its logarithm is below log p(x), by Jensen.

    >>> model, z = ExponentialPrior(1.0), torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> evidence_estimate(model, torch.tensor(2.0), z)[0]
    tensor(-1.1380, dtype=torch.float64)
    """
    return importance_estimate(log_weights(model, x, z, q))


def weighted_bound(model: LatentModel, x: Tensor, z: Tensor, q: Distribution) -> Tensor:
    r"""The importance-weighted bound by K draws along the first axis of z; its mean rises with K to log p(x).

    $$ L_K = E \log \frac{1}{K} \sum_k w(z_k), \qquad \mathrm{ELBO} = L_1 \le L_2 \le \dots \le \log p(x) $$
    """
    return importance_weighted(log_weights(model, x, z, q))


def elbo(model: BoundedModel, x: Tensor, q: Distribution) -> Tensor:
    r"""The evidence lower bound, in closed form.

    $$ L = E_q \log \frac{p(x, Z)}{q(Z)} = E_q \log p(x \mid Z) - \mathrm{KL}(q \Vert p_Z)
         = \log p(x) - \mathrm{KL} \left( q \Vert p(\cdot \mid x) \right) $$

    >>> elbo(ExponentialPrior(1.0), torch.tensor(2.0), Exponential(1.0))
    tensor(-1.9189, dtype=torch.float64)
    """
    divergence: Tensor = kl_divergence(q, model.prior)
    return model.expected_log_likelihood(x, q) - divergence


class LinearGaussian:
    r"""z is standard normal, and x a linear map of it with noise: probabilistic PCA, of which everything is known.

    $$ z \sim N(0, I), \quad x \mid z \sim N(W z + b, \sigma^2 I), \qquad x \sim N(b, W W^\top + \sigma^2 I) $$

    Tipping & Bishop 1999, doi:10.1111/1467-9868.00196.
    """

    def __init__(self, weight: Tensor, bias: Tensor, noise: float):
        if weight.shape[:-1] != bias.shape:
            raise GradlabError(f"LinearGaussian: a weight of {tuple(weight.shape)} needs a bias of ({len(weight)},).")
        if not noise > 0:
            raise GradlabError(f"LinearGaussian: noise must be positive, got {noise}.")
        self.weight, self.bias, self.noise = weight, bias, noise

    @property
    def prior(self) -> MultivariateNormal:
        return _normal(self.weight.new_zeros(self.weight.shape[1]), _unit(self.weight.shape[1], self.weight))

    def likelihood(self, z: Tensor) -> Independent[Normal]:
        return Independent(Normal(z @ self.weight.T + self.bias, self.noise), 1)

    def evidence(self, x: Tensor) -> Tensor:
        """log p(x)"""
        covariance = self.weight @ self.weight.T + self.noise**2 * _unit(len(self.bias), self.weight)
        log_p: Tensor = _normal(self.bias, covariance).log_prob(x)  # type: ignore[no-untyped-call]
        return log_p

    def posterior(self, x: Tensor) -> MultivariateNormal:
        """p(z | x), which no q is nearer to."""
        precision = _unit(self.weight.shape[1], self.weight) + self.weight.T @ self.weight / self.noise**2
        covariance = torch.linalg.inv(precision)
        return _normal((x - self.bias) @ self.weight @ covariance / self.noise**2, covariance)

    def expected_log_likelihood(self, x: Tensor, q: Distribution) -> Tensor:
        r"""For any q whose mean m and covariance S are known.

        $$ E_q \log p(x \mid Z) = \log p(x \mid m) - \frac{1}{2 \sigma^2} \mathrm{tr}(W S W^\top) $$
        """
        covariance = q.covariance_matrix if isinstance(q, MultivariateNormal) else torch.diag_embed(q.variance)
        at_mean: Tensor = self.likelihood(q.mean).log_prob(x)  # type: ignore[no-untyped-call]
        spread = torch.einsum("ij,...jk,ik->...", self.weight, covariance, self.weight)
        return at_mean - spread / (2 * self.noise**2)


class ExponentialPrior:
    r"""z is exponential with the rate θ, and x is z with standard normal noise.

    $$ p(z) = \theta e^{-\theta z}, \quad x \mid z \sim N(z, 1), \qquad
       p(x) = \theta \, e^{\theta^2 / 2 - \theta x} \, \Phi(x - \theta) $$

    With q = Exp(φ), whose second moment is 2/φ², the bound is

    $$ L = \log \theta - \frac{\theta}{\varphi} - \tfrac{1}{2} \log 2 \pi
           - \tfrac{1}{2} \left( x^2 - \frac{2 x}{\varphi} + \frac{2}{\varphi^2} \right) - \log \varphi + 1 $$

    and highest at θ = φ = 2/x, for x > 0.
    """

    def __init__(self, rate: float | Tensor):
        self.rate = torch.as_tensor(rate, dtype=torch.float64)
        if not bool((self.rate > 0).all()):
            raise GradlabError(f"ExponentialPrior: rate must be positive, got {rate}.")

    @property
    def prior(self) -> Exponential:
        return Exponential(self.rate)

    def likelihood(self, z: Tensor) -> Normal:
        return Normal(z, 1.0)

    def evidence(self, x: Tensor) -> Tensor:
        """log p(x)"""
        tail: Tensor = torch.special.log_ndtr(x - self.rate)
        return self.rate.log() + self.rate**2 / 2 - self.rate * x + tail

    def log_posterior(self, z: Tensor, x: Tensor) -> Tensor:
        """log p(z | x): that of N(x - θ, 1) cut off at 0."""
        joint: Tensor = self.prior.log_prob(z) + self.likelihood(z).log_prob(x)  # type: ignore[no-untyped-call]
        return joint - self.evidence(x)

    def expected_log_likelihood(self, x: Tensor, q: Distribution) -> Tensor:
        second = q.variance + q.mean**2
        return -0.5 * math.log(2 * math.pi) - 0.5 * (x**2 - 2 * x * q.mean + second)

    @staticmethod
    def best_rate(x: float) -> float:
        """Of prior and q together, by the bound; for x ≤ 0 it only rises with the rate."""
        if not x > 0:
            raise GradlabError(f"The bound has no highest point for x = {x:g}: it rises with the rate. Use x > 0.")
        return 2 / x


def _normal(mean: Tensor, covariance: Tensor) -> MultivariateNormal:
    return MultivariateNormal(mean, covariance)


def _unit(size: int, like: Tensor) -> Tensor:
    return torch.eye(size, dtype=like.dtype)
