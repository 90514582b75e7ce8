"""Two estimates of the same ELBO beside each other: with the KL in closed form, and by the codes that are drawn."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Batch
from gradlab.nn.latent import draw, kl_each, log_ratio, wide
from gradlab.tasks.evaluation import sums_over
from gradlab.tasks.generative.importance import NUMBERS
from gradlab.tasks.generative.likelihoods import Likelihood
from gradlab.tasks.objective import Loss
from gradlab.tasks.task import Figures

_DRAWS = 16  # codes for each example, by which the variance of one is seen
_ROWS = 4096  # examples at a time

Each = Float[Tensor, " batch"]


class Spread(NamedTuple):
    """Of an estimate by one code, for every example."""

    mean: Each
    variance: Each


def elbo_estimates(
    model: Any, likelihood: Likelihood, x: Float[Tensor, "batch *shape"], draws: int
) -> dict[str, Spread]:
    r"""The mean and the variance of both estimates over so many codes.

    $$ \log p(x \mid z) - \mathrm{KL}\left(q(z \mid x) \Vert p(z)\right), \qquad
       \log p(x \mid z) - \log \frac{q(z \mid x)}{p(z)} $$

    Their means are the same. The closed form has less variance where q is far from the posterior; the other has none at
    all where q is the posterior, since log p(x, z) - log q(z | x) is then log p(x), whatever z.
    """
    mean, log_variance = map(wide, model.encode(x))
    codes = draw(mean, log_variance, draws)
    evidence = likelihood.log_prob(model, x.flatten(1), model.decode(codes.z))
    estimates = {
        "closed-form": evidence - kl_each(mean, log_variance).sum(-1),
        "monte-carlo": evidence - log_ratio(codes, log_variance),
    }
    return {name: Spread(each.mean(0), each.var(0)) for name, each in estimates.items()}


def spread_of_elbo(model: nn.Module, likelihood: Likelihood, split: Any, *, samples: int, by_formula: bool) -> Figures:
    """Over a split: the standard error of an ELBO by so many codes, and the variance of either estimate by one."""

    def spreads(model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
        closed, drawn = elbo_estimates(model, likelihood, batch["inputs"], _DRAWS).values()
        mean = (closed if by_formula else drawn).mean.double()
        each = {"mean": mean, "square": mean**2, "closed": closed.variance, "drawn": drawn.variance}
        yield from ((name, (values.sum(), len(values))) for name, values in each.items())

    rows = max(1, min(_ROWS, NUMBERS // (_DRAWS * math.prod(split.inputs.shape[1:]))))
    sums = sums_over(model, split, spreads, rows)
    mean, square, closed, drawn = (total / count for total, count in sums.values())
    # Examples were seen with more codes than the figure has, or fewer, and so spread less, or more.
    square += (closed if by_formula else drawn) * (1 / samples - 1 / _DRAWS)
    error = standard_error(mean, square, sums["mean"][1])
    return {"elbo_error": error, "elbo_variance_closed": closed, "elbo_variance_drawn": drawn}


def standard_error(mean: float, square: float, count: float) -> float:
    """Of the mean of so many numbers, by it and the mean of their squares.

    >>> standard_error(2.0, 5.0, 100)
    0.1
    """
    return math.sqrt(max(0.0, square - mean**2) / count)
