"""Importance sampling: a marginal likelihood from the weights of draws, and how far it can be trusted."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.latent import importance_weighted


def importance_estimate(
    log_weights: Float[Tensor, "samples *batch"],
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    r"""The log of the mean weight, and how many draws of equal weight would tell as much (the effective sample size).

    $$ \log \hat p(x) = \log \frac{1}{n} \sum_i w_i, \qquad
       n_\mathrm{eff} = \frac{\left( \sum_i w_i \right)^2}{\sum_i w_i^2}, \qquad
       w_i = \frac{p(x, z_i)}{q(z_i)}, \quad z_i \sim q $$

    The mean weight is p(x) on average, whatever q is, as long as q(z) > 0 wherever p(x, z) > 0. Its log is not: by
    Jensen it is too low on average, ever less so the more draws there are. One draw gives the evidence lower bound.
    An effective size near 1 says that one draw has all the weight, and that the estimate is not to be trusted.

    >>> importance_estimate(torch.tensor([1.0, 3.0, 2.0]).log())
    (tensor(0.6931), tensor(2.5714))
    """
    if not len(log_weights):
        raise GradlabError("importance_estimate needs at least one draw: log_weights has none along its first axis.")
    log_mean, effective = importance_weighted(log_weights), 1 / log_weights.softmax(0).square().sum(0)
    # Shares of no weight at all are no numbers; it tells as much as no draw.
    return log_mean, torch.where(log_mean == -torch.inf, 0.0, effective)


def importance_error(effective: Float[Tensor, "*batch"], samples: int) -> Float[Tensor, "*batch"]:
    r"""The standard error of an estimate by so many draws, relative to it: that of its log, where it is small.

    $$ \frac{s}{\sqrt n \, \bar w} = \sqrt{\frac{n / n_\mathrm{eff} - 1}{n - 1}} $$

    s is the standard deviation of the weights, and w̄ their mean. One draw does not tell how far it may be off.

    >>> _, effective = importance_estimate(torch.tensor([1.0, 3.0, 2.0]).log())
    >>> importance_error(effective, 3)
    tensor(0.2887)
    """
    if samples < 2:
        return torch.full_like(effective, torch.inf)
    return ((samples / effective - 1).clamp(min=0) / (samples - 1)).sqrt()
