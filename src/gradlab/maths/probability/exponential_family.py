"""Exponential families: densities that are exponentials of a linear function of their statistics, and their fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, pi
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.maths.optimisation.newton import by_autograd, newton


@dataclass(frozen=True)
class ExponentialFamily:
    r"""The densities with some statistics T, one for each natural parameter θ.

    $$ p_\theta(x) = h(x) \exp\left( \langle \theta, T(x) \rangle - A(\theta) \right), \qquad
       \nabla A(\theta) = E_\theta T(X), \qquad \nabla^2 A(\theta) = \mathrm{Cov}_\theta T(X) $$

    >>> POISSON.fit([2.0, 3.0, 7.0]).exp()
    tensor([4.], dtype=torch.float64)
    """

    name: str
    statistics: Callable[[Tensor], Tensor]
    """T, on a new last axis."""
    log_partition: Callable[[Tensor], Tensor]
    """A, of the parameters on the last axis."""
    start: Sequence[float]
    """Some natural parameters."""
    attained: Callable[[Tensor], bool]
    """Whether some parameters have these means of the statistics."""
    log_base: Callable[[Tensor], Tensor] = torch.zeros_like
    """log h."""

    def log_density(self, x: Any, theta: Any) -> Tensor:
        x, theta = tensor(x), tensor(theta)
        log_density: Tensor = self.log_base(x) + (theta * self.statistics(x)).sum(-1) - self.log_partition(theta)
        return log_density

    def mean(self, theta: Float[Tensor, " parameters"]) -> Float[Tensor, " parameters"]:
        r"""The means of the statistics, $\nabla A(\theta)$."""
        return by_autograd(self.log_partition)(tensor(theta))[0]

    def covariance(self, theta: Float[Tensor, " parameters"]) -> Float[Tensor, "parameters parameters"]:
        r"""The covariance of the statistics, $\nabla^2 A(\theta)$, which is the Fisher information too."""
        return by_autograd(self.log_partition)(tensor(theta))[1]

    def fit(self, x: Any) -> Float[Tensor, " parameters"]:
        r"""The natural parameters of maximum likelihood, by Newton's method: those that match the moments.

        $$ \nabla A(\hat\theta) = \frac{1}{n} \sum_i T(x_i) $$
        """
        x = tensor(x)
        observed = self.statistics(x).mean(0)
        if x.ndim != 1 or not bool(observed.isfinite().all()) or not self.attained(observed):
            means = ", ".join(f"{float(m):g}" for m in observed.flatten()[:8])
            raise GradlabError(
                f"{self.name}: no parameters have the mean statistics {means} of these values, so the likelihood has "
                "no maximum. Values must be possible, and not all alike."
            )
        start = x.new_tensor(self.start)
        return newton(lambda theta: self.log_partition(theta) - theta @ observed, start, tolerance=0.0).points[-1]


def _powers(x: Tensor) -> Tensor:
    return torch.stack([x, x**2], -1)


def _column(x: Tensor) -> Tensor:
    return x[..., None]


BERNOULLI = ExponentialFamily(
    "Bernoulli", _column, lambda t: torch.nn.functional.softplus(t[..., 0]), [0.0], lambda m: bool(0 < m[0] < 1)
)
POISSON = ExponentialFamily(
    "Poisson", _column, lambda t: t[..., 0].exp(), [0.0], lambda m: bool(m[0] > 0), lambda x: -torch.lgamma(x + 1)
)
EXPONENTIAL = ExponentialFamily("exponential", _column, lambda t: -(-t[..., 0]).log(), [-1.0], lambda m: bool(m[0] > 0))
NORMAL = ExponentialFamily(
    "normal",
    _powers,
    lambda t: -(t[..., 0] ** 2) / (4 * t[..., 1]) - 0.5 * (-2 * t[..., 1]).log(),
    [0.0, -0.5],
    lambda m: bool(m[1] > m[0] ** 2 * (1 + 1e-12)),
    lambda x: torch.full_like(x, -0.5 * log(2 * pi)),
)
GAMMA = ExponentialFamily(
    "gamma",
    lambda x: torch.stack([x.log(), x], -1),
    lambda t: torch.lgamma(t[..., 0] + 1) - (t[..., 0] + 1) * (-t[..., 1]).log(),
    [0.0, -1.0],
    lambda m: bool(m[1].log() > m[0] + 1e-12),
)


def categorical(classes: int) -> ExponentialFamily:
    """Of the whole numbers below `classes`, whose parameters are log-odds against the first.

    >>> categorical(3).fit([0.0, 1.0, 1.0, 2.0]).exp()
    tensor([2.0000, 1.0000], dtype=torch.float64)
    """
    return ExponentialFamily(
        "categorical",
        lambda x: torch.nn.functional.one_hot(x.long(), classes).to(x.dtype)[..., 1:],
        lambda t: torch.nn.functional.pad(t, (1, 0)).logsumexp(-1),
        [0.0] * (classes - 1),
        lambda m: bool((m > 0).all() and m.sum() < 1),
    )
