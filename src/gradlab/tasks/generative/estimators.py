"""Two estimates of the same ELBO beside each other: with the KL in closed form, and by the codes that are drawn."""

from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor

from gradlab.nn.latent import draw, kl_each, log_ratio, wide
from gradlab.tasks.generative.likelihoods import Likelihood

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
