"""A mixture of Gaussians, which learns by expectation-maximisation."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError, TrainingError
from gradlab.models.registry import models
from gradlab.registry import Count, NonNegative
from gradlab.specs import Array

Inputs = Float[Tensor, "batch *shape"]


@dataclass(frozen=True, kw_only=True)
class MixtureSettings:
    """What a mixture is made of."""

    components: Annotated[Count, "Gaussians"] = 8
    floor: Annotated[
        NonNegative, "what is added to each variance, in units of the prepared inputs: a Gaussian on one point has none"
    ] = 1e-6


class GaussianMixture(nn.Module):
    r"""Each example is drawn from one of several Gaussians, and nobody says which.

    $$ p(x) = \sum_k \pi_k N(x; \mu_k, C_k) $$

    A step of EM shares each example among the Gaussians by how probable each is for it, and then makes examples that
    are so shared the most likely. No step makes the training examples less likely, but for what `floor` adds.

    $$ r_{ik} = \frac{\pi_k N(x_i; \mu_k, C_k)}{p(x_i)}, \qquad \pi_k = \frac{1}{n} \sum_i r_{ik}, \qquad
       \mu_k = \frac{\sum_i r_{ik} x_i}{\sum_i r_{ik}}, \qquad
       C_k = \frac{\sum_i r_{ik} (x_i - \mu_k)(x_i - \mu_k)^\top}{\sum_i r_{ik}} + \varepsilon I $$

    Called on examples it gives log p. It begins with examples far from each other for means (k-means++). All of it is
    in double precision: an optimum of EM is flat.

    >>> model = GaussianMixture([1], MixtureSettings(components=2))
    >>> model.means = torch.tensor([[-1.0], [1.0]]).double()
    >>> model(torch.zeros(1, 1))
    tensor([-1.4189], dtype=torch.float64)
    """

    weights: Tensor
    means: Tensor
    covariances: Tensor
    begun: Tensor
    draws: Tensor

    def __init__(self, shape: Any, settings: MixtureSettings = MixtureSettings()):
        super().__init__()
        self.shape, self.settings = tuple(shape), settings
        count, size = settings.components, math.prod(self.shape)
        self.register_buffer("weights", torch.full((count,), 1 / count, dtype=torch.float64))
        self.register_buffer("means", torch.zeros(count, size, dtype=torch.float64))
        self.register_buffer("covariances", torch.zeros(count, size, size, dtype=torch.float64))
        self.covariances.diagonal(dim1=1, dim2=2).add_(1.0)
        self.register_buffer("begun", torch.zeros((), dtype=torch.bool))
        self.register_buffer("draws", torch.rand(count, dtype=torch.float64))

    def fit_inputs(self, inputs: Inputs) -> None:
        """Begin with examples for means, and with the covariance of all of them: once."""
        if self.begun:
            return
        x = inputs.flatten(1).double()
        if len(x) < len(self.weights):
            raise GradlabError(f"A mixture of {len(self.weights)} Gaussians needs as many examples, got {len(x)}.")
        self.means.copy_(x[_far_apart(x, self.draws)])
        self.covariances.copy_(self._floored(torch.cov(x.T, correction=0).reshape(x.shape[1], -1)))
        self.begun.fill_(True)

    def learn_without_gradients(self, train: Any, batch: Any) -> None:
        """One step of EM over all of the training examples."""
        self.step(train.inputs[:])

    def step(self, inputs: Inputs) -> None:
        """One step of EM over some examples."""
        x = inputs.flatten(1).double()
        shares = self.log_joint(inputs).softmax(dim=1)
        # A Gaussian that no example is of stays finite.
        totals = shares.sum(0) + 10 * torch.finfo(torch.float64).eps
        self.weights.copy_(totals / totals.sum())
        self.means.copy_(shares.T @ x / totals[:, None])
        for k, share in enumerate(shares.T):
            apart = x - self.means[k]
            self.covariances[k] = self._floored((share[:, None] * apart).T @ apart / totals[k])

    def _floored(self, covariance: Tensor) -> Tensor:
        covariance.diagonal().add_(self.settings.floor)
        return covariance

    def log_joint(self, x: Inputs) -> Float[Tensor, "batch components"]:
        """log π_k N(x; μ_k, C_k), of each example and Gaussian."""
        factors, rows = self._factors(), x.flatten(1).double()
        apart = (rows[None] - self.means[:, None]).transpose(1, 2)  # Gaussian, number, example
        squares: Tensor = torch.linalg.solve_triangular(factors, apart, upper=False).square().sum(1)
        volumes = 2 * factors.diagonal(dim1=1, dim2=2).log().sum(1) + self.means.shape[1] * math.log(2 * math.pi)
        return self.weights.log() - 0.5 * (squares + volumes[:, None]).T

    def _factors(self) -> Float[Tensor, "components numbers numbers"]:
        """The lower triangles L with L Lᵀ = C."""
        factors: Tensor
        factors, wrong = torch.linalg.cholesky_ex(self.covariances)
        if wrong.any():
            raise TrainingError(
                "A Gaussian of the mixture has fallen onto a line or a point, where a density is infinite. Raise "
                f"model.floor, now {self.settings.floor:g}, or take fewer model.components."
            )
        return factors

    def log_prob(self, x: Inputs) -> Float[Tensor, " batch"]:
        """The natural logarithm of the density, of inputs as they are given."""
        return self.log_joint(x).logsumexp(dim=1)

    def forward(self, x: Inputs) -> Float[Tensor, " batch"]:
        return self.log_prob(x)

    def sample(self, count: int) -> Inputs:
        """Examples drawn from the mixture."""
        which = torch.multinomial(self.weights, count, replacement=True)
        noise = torch.randn(count, self.means.shape[1], 1, device=which.device, dtype=torch.float64)
        drawn = self.means[which] + (self._factors()[which] @ noise).squeeze(2)
        return drawn.to(torch.get_default_dtype()).reshape(count, *self.shape)

    def extra_repr(self) -> str:
        return f"{'×'.join(map(str, self.shape))}, components={len(self.weights)}"


def _far_apart(x: Float[Tensor, "points numbers"], draws: Float[Tensor, " chosen"]) -> Tensor:
    """Rows that are far from each other, one for each number of [0, 1): a row by its squared distance to the last ones.

    Arthur & Vassilvitskii 2007, ilpubs.stanford.edu/778.
    """
    chosen = [int(draws[0] * len(x))]
    nearest = (x - x[chosen[0]]).square().sum(1)
    for draw in draws[1:]:
        shares = nearest.cumsum(0)
        chosen.append(min(int(torch.searchsorted(shares, draw * shares[-1], right=True)), len(x) - 1))
        nearest = torch.minimum(nearest, (x - x[chosen[-1]]).square().sum(1))
    return torch.tensor(chosen, device=x.device)


@models.register("gaussian-mixture")
def gaussian_mixture(inputs: Array, outputs: int, *, settings: MixtureSettings = MixtureSettings()) -> nn.Module:
    """A mixture of Gaussians with full covariances, by expectation-maximisation over all examples in each step."""
    return GaussianMixture(inputs.shape, settings)
