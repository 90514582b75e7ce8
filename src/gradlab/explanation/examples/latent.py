"""Worked examples of latent variables: a bound of the evidence that is known in closed form."""

import math

import torch
from torch.distributions import Exponential

from gradlab.explanation.walk import Step, worked
from gradlab.maths.information import kl_by_quadrature
from gradlab.maths.latent import ExponentialPrior, elbo, log_weights
from gradlab.maths.quadrature import integrate

_X = 2.0


@worked("elbo-exp-example", "A bound of the evidence with an exponential prior, and its highest point")
def exponential_prior() -> list[Step]:
    x, model, q = torch.tensor(_X, dtype=torch.float64), ExponentialPrior(1.0), Exponential(torch.tensor(1.0).double())
    bound, evidence = elbo(model, x, q), model.evidence(x)
    by_quadrature = integrate(lambda z: (log_weights(model, x, z) + _log_prior(model, z)).exp(), 0.0).log()
    gap = kl_by_quadrature(q.log_prob, lambda z: model.log_posterior(z, x), 0.0, at=[1.0])
    best = ExponentialPrior.best_rate(_X)
    around = [_bound(theta, phi, x) for theta, phi in ((best, best), (0.9 * best, best), (best, 1.1 * best))]
    larger = [_bound(2 / 5.0, 2 / 5.0, torch.tensor(5.0).double()), _bound(4.0, 4.0, torch.tensor(0.5).double())]
    likelihood = [_best_evidence(value) for value in (0.5, 2.0, 5.0)]
    return [
        Step(
            "A hidden waiting time z is exponential, and x is seen instead of it, with noise.",
            r"p(z) = \theta e^{-\theta z}, \qquad x \mid z \sim N(z, 1)",
            f"θ = 1, and x = {_X:g} was seen",
        ),
        Step(
            "The evidence is an integral that can be done: completing the square leaves the tail of a normal.",
            r"p(x) = \theta \, e^{\theta^2 / 2 - \theta x} \, \Phi(x - \theta)",
            f"log p({_X:g}) = {evidence.item():.4f}, by quadrature {by_quadrature.item():.4f}",
        ),
        Step(
            "A guess q at z, exponential too, bounds it. Its first two moments are 1/φ and 2/φ²: with 1/φ² for the "
            "second, which is the variance, the bound would be ½ higher here, and above the evidence.",
            r"L = \log \theta - \frac{\theta}{\varphi} - \tfrac{1}{2} \log 2 \pi - \tfrac{1}{2} \left( x^2 - "
            r"\frac{2 x}{\varphi} + \frac{2}{\varphi^2} \right) - \log \varphi + 1",
            f"φ = 1: L = {bound.item():.4f} ≤ {evidence.item():.4f} < {bound.item() + 0.5:.4f}",
        ),
        Step(
            "What the bound lacks is the divergence of q from the posterior.",
            r"\log p(x) = L + \mathrm{KL} \left( q \Vert p(\cdot \mid x) \right)",
            f"{bound.item():.4f} + {gap.item():.4f} = {bound.item() + gap.item():.4f}",
        ),
        Step(
            "By θ and φ the bound is highest where both derivatives vanish: θ = φ from the first, and then φ = 2/x, "
            "which is where we are. For x ≤ 0 it has no highest point: it rises with the rate.",
            r"\partial_\theta L = \frac{1}{\theta} - \frac{1}{\varphi} = 0, \qquad "
            r"\partial_\varphi L = \frac{\theta - x}{\varphi^2} + \frac{2}{\varphi^3} - \frac{1}{\varphi} = 0",
            f"θ = φ = {best:g}: L = {around[0]:.4f}; with θ a tenth less {around[1]:.4f}, with φ a tenth more "
            f"{around[2]:.4f}; for x = 5 at 0.4 {larger[0]:.4f}, for x = 0.5 at 4 {larger[1]:.4f}",
        ),
        Step(
            "That is not the θ under which x is most probable: a bound is the higher the tighter it is, too.",
            r"\arg\max_\theta \log p(x)",
            ", ".join(f"{theta:.3f} for x = {value:g}" for theta, value in zip(likelihood, (0.5, 2, 5), strict=True)),
        ),
    ]


def _log_prior(model: ExponentialPrior, z: torch.Tensor) -> torch.Tensor:
    log_p: torch.Tensor = model.prior.log_prob(z)  # type: ignore[no-untyped-call]
    return log_p


def _bound(theta: float, phi: float, x: torch.Tensor) -> float:
    return elbo(ExponentialPrior(theta), x, Exponential(torch.tensor(phi).double())).item()


def _best_evidence(x: float) -> float:
    """The rate of the highest evidence, by Newton's method on the logarithm of the rate."""
    log_rate, point = torch.tensor(math.log(2 / x)).double().requires_grad_(), torch.tensor(x).double()
    for _ in range(20):
        (slope,) = torch.autograd.grad(ExponentialPrior(log_rate.exp()).evidence(point), log_rate, create_graph=True)
        (bend,) = torch.autograd.grad(slope, log_rate)
        log_rate = (log_rate + slope / bend.abs()).detach().requires_grad_()
    return log_rate.exp().item()
