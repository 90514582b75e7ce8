"""log p(x) of a finished model, by many draws from q(z | x) in a bounded memory."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.importance import importance_error, importance_estimate
from gradlab.nn.latent import draw, log_ratio, wide
from gradlab.tasks.generative.likelihoods import Likelihood

NUMBERS = 2**23  # of decoded examples at a time
Each = Float[Tensor, " batch"]


class LogLikelihood(NamedTuple):
    """Estimates for each example."""

    value: Each
    variance: Each
    """Of that estimate, by how much the weights differ."""


def log_likelihood(
    model: Any, likelihood: Likelihood, x: Float[Tensor, "batch *shape"], samples: int, numbers: int = NUMBERS
) -> LogLikelihood:
    r"""Importance sampling with the encoder for a proposal.

    $$ \log \hat p(x) = \log \frac{1}{N} \sum_n w_n, \qquad
       \mathrm{Var} \approx \frac{1}{N - 1} \left( \frac{N \sum_n w_n^2}{\left(\sum_n w_n\right)^2} - 1 \right) $$

    The mean of the weights is unbiased; its logarithm is too low on average, by half of that variance.
    """
    mean, log_variance = map(wide, model.encode(x))
    flat = x.flatten(1)
    at_once = max(1, numbers // max(1, flat.numel()))
    parts = []
    for start in range(0, samples, at_once):
        codes = draw(mean, log_variance, min(at_once, samples - start))
        weights = likelihood.log_prob(model, flat, model.decode(codes.z)) - log_ratio(codes, log_variance)
        parts.append(weights.double())
    value, effective = importance_estimate(torch.cat(parts))
    return LogLikelihood(value, importance_error(effective, samples).square())
