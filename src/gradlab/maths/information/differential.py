"""Entropies and divergences of densities: in closed form, and by quadrature of any density on a line."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.distributions import Distribution

from gradlab.errors import GradlabError
from gradlab.maths.quadrature import Bound, integrate

LogDensity = Callable[[Tensor], Tensor]
"""log p at each point of a tensor, -∞ where there is no mass; axes before the last are many densities."""

_MASS = 1e-5  # how far that of a density may be from 1


def differential_entropy(distribution: Distribution, *, base: float = math.e) -> Tensor:
    r"""The entropy of a density in closed form, as torch.distributions has it.

    $$ h(X) = -\int p(x) \log p(x) \, dx $$

    Uniform on [a, b] it is log(b - a), the most there is on that interval; of a normal it is ½ log(2πeσ²), the most
    for that variance. It is no mean surprise: it depends on the unit of x, and can be negative.

    >>> from torch.distributions import Uniform
    >>> differential_entropy(Uniform(0.0, 0.5), base=2)
    tensor(-1.)
    """
    if getattr(distribution.support, "is_discrete", False):
        raise GradlabError(f"{type(distribution).__name__} has no density: its entropy is that of its probabilities.")
    try:
        nats = distribution.entropy()
    except NotImplementedError:
        name = type(distribution).__name__
        raise GradlabError(f"There is no closed form for {name}: use entropy_by_quadrature(d.log_prob).") from None
    return torch.as_tensor(nats / math.log(base))


def entropy_by_quadrature(
    log_density: LogDensity,
    low: Bound = -math.inf,
    high: Bound = math.inf,
    *,
    at: Sequence[Bound] = (),
    base: float = math.e,
) -> Tensor:
    r"""The same of any density between two bounds.

    $$ h = -\int_a^b p(x) \log p(x) \, dx $$

    `at` are points between them where it has a kink, a jump or a narrow peak.

    >>> entropy_by_quadrature(lambda x: torch.zeros_like(x) + math.log(2), 0.0, 0.5)
    tensor(-0.6931, dtype=torch.float64)
    """
    _check_mass(log_density, low, high, at)
    return integrate(lambda x: -_weighted(log_density(x), log_density(x)), low, high, at=at) / math.log(base)


def kl_by_quadrature(
    log_p: LogDensity,
    log_q: LogDensity,
    low: Bound = -math.inf,
    high: Bound = math.inf,
    *,
    at: Sequence[Bound] = (),
    base: float = math.e,
) -> Tensor:
    r"""The divergence of two densities on a line.

    $$ \mathrm{KL}(p \Vert q) = \int p(x) \log \frac{p(x)}{q(x)} \, dx $$

    It is infinite where q has no mass on a set that has some under p: a single point of that kind does not matter.

    >>> from torch.distributions import Laplace, Normal
    >>> kl_by_quadrature(Normal(0.0, 1.0).log_prob, Laplace(0.0, 1.0).log_prob, at=[0.0])
    tensor(0.0721, dtype=torch.float64)
    """
    _check_mass(log_p, low, high, at)
    return integrate(lambda x: _weighted(log_p(x), log_p(x) - log_q(x)), low, high, at=at) / math.log(base)


def pushforward(log_density: LogDensity, inverse: Callable[[Tensor], Tensor]) -> LogDensity:
    r"""The log-density of Ψ(X), for an invertible Ψ whose inverse is given.

    $$ \log p_{\Psi(X)}(y) = \log p_X(\Psi^{-1}(y)) + \log \left| \frac{d \Psi^{-1}(y)}{dy} \right| $$

    The derivative is by automatic differentiation. Entropies change by it; divergences do not, since both densities
    have the same one.

    >>> from torch.distributions import Normal, LogNormal
    >>> y = torch.tensor([0.5, 2.0])
    >>> pushforward(Normal(0.0, 1.0).log_prob, torch.log)(y) - LogNormal(0.0, 1.0).log_prob(y)
    tensor([0., 0.])
    """

    def pushed(y: Tensor) -> Tensor:
        x, backwards = torch.func.vjp(inverse, y)  # type: ignore[misc]
        slope: Tensor = backwards(torch.ones_like(x))[0]
        return log_density(x) + slope.abs().log()

    return pushed


def _weighted(log_p: Tensor, values: Tensor) -> Tensor:
    """p · values, and 0 where there is no mass, whatever the value."""
    return torch.where(log_p > -torch.inf, log_p.exp() * torch.where(log_p > -torch.inf, values, 0.0), 0.0)


def _check_mass(log_density: LogDensity, low: Bound, high: Bound, at: Sequence[Bound]) -> None:
    mass = integrate(lambda x: log_density(x).exp(), low, high, at=at).detach()
    if not bool(((mass - 1).abs() <= _MASS).all()):
        wrong = mass[~((mass - 1).abs() <= _MASS)].flatten()[0].item()
        raise GradlabError(
            f"The density has the mass {wrong:.6g} between its bounds, and not 1. Give bounds close around it, say "
            "by at= where its peaks are, or subtract the logarithm of its mass."
        )
