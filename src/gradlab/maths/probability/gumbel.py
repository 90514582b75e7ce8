"""Gumbel's distribution, that of largest values, and its parameters by maximum likelihood."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays
from gradlab.maths.optimisation.newton import newton
from gradlab.maths.optimisation.path import Path


class Gumbel(NamedTuple):
    """Its parameters: where its density is highest, and how wide it is."""

    location: Tensor
    scale: Tensor


@takes_arrays
def gumbel_nll(x: Float[Tensor, "*shape"], location: Tensor | float, scale: Tensor | float) -> Float[Tensor, "*shape"]:
    r"""The negative log-likelihood of a value of Gumbel's distribution.

    $$ F(x) = e^{-e^{-z}}, \qquad -\log p(x) = \log \beta + z + e^{-z}, \qquad z = \frac{x - \mu}{\beta} $$

    >>> gumbel_nll(torch.tensor([1.0, 2.0]), 1.0, 2.0)
    tensor([1.6931, 1.7997])
    """
    scale = torch.as_tensor(scale, dtype=x.dtype, device=x.device)
    z = (x - location) / scale
    return scale.log() + z + (-z).exp()


@takes_arrays
def fit_gumbel(x: Float[Tensor, " draws"]) -> Gumbel:
    r"""Location and scale by maximum likelihood, where both derivatives of the likelihood vanish.

    $$ \sum_i e^{-z_i} = N, \qquad \beta = \bar x - \frac{\sum_i x_i e^{-x_i / \beta}}{\sum_i e^{-x_i / \beta}} $$

    By Newton's method in 1/β and μ/β, in which the likelihood is convex, so that there is no other optimum.

    >>> fit_gumbel(torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)).scale
    tensor(0.9782, dtype=torch.float64)
    """
    return _gumbel(gumbel_path(x).points[-1], x)


def gumbel_path(x: Float[Tensor, " draws"], start: Gumbel | None = None) -> Path:
    """Newton's way to the optimum, in (1/β, μ/β) of the values in units of their mean and standard deviation.

    It starts where mean and variance are right, unless somewhere else.
    """
    if x.ndim != 1 or len(x) < 2 or not bool(x.isfinite().all()) or not float(x.std()) > 0:
        raise GradlabError("fit_gumbel needs two different finite values or more, in one row.")
    values = (x - x.mean()) / x.std()

    def nll(natural: Tensor) -> Tensor:
        slope, shift = natural
        return gumbel_nll(values, shift / slope, 1 / slope).mean() if slope > 0 else natural.new_tensor(torch.inf)

    def derivatives(natural: Tensor) -> tuple[Tensor, Tensor]:
        slope, shift = natural
        tail = (-(slope * values - shift)).exp()
        gradient = torch.stack([(values - values * tail).mean() - 1 / slope, tail.mean() - 1])
        mixed = -(values * tail).mean()
        curve = torch.stack([(values.square() * tail).mean() + slope**-2, mixed, mixed, tail.mean()])
        return gradient, curve.reshape(2, 2)

    first = x.new_tensor([1.2825, -0.5772])
    if start is not None:
        first = torch.stack([x.std() / start.scale, (start.location - x.mean()) / start.scale])
    return newton(nll, first, tolerance=0.0, derivatives=derivatives)


def _gumbel(natural: Tensor, x: Tensor) -> Gumbel:
    slope, shift = natural
    return Gumbel(x.mean() + x.std() * shift / slope, x.std() / slope)
