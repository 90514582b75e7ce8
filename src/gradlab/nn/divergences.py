"""How far one distribution is from another, and how much there is to know in one.

Probabilities lie along the last axis and sum to 1; axes before it are many distributions. Logarithms are natural, so
the unit is the nat; `base=2` has bits, and `base=10` decimal digits. An outcome that has probability 0 adds nothing, by
0 log 0 = 0, and the slope there is taken to be 0, so that a probability which was rounded to 0 does no harm to a
gradient. Nothing is asked about the probabilities themselves, which a training would pay for at every step:
`maths.information` has the same functions of distributions that are checked.
"""

import math
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.blocks import block

Base = Annotated[float, Gt(1), Lt(math.inf)]
"""Of logarithms: e for nats, 2 for bits."""


@block("divergence.entropy", flops="O(n)", memory="O(n)")
def entropy(p: Float[Tensor, "*batch outcomes"], *, base: Base = math.e) -> Float[Tensor, "*batch"]:
    r"""The mean surprise at an outcome.

    $$ H(p) = - \sum_i p_i \log p_i $$

    It is 0 for a certain outcome, and log n at most, for n equal probabilities. The entropy of two variables together
    is that of their table of probabilities, laid out as one axis.

    >>> entropy(torch.tensor([0.5, 0.5, 0.0])), entropy(torch.tensor([0.5, 0.5, 0.0]), base=2)
    (tensor(0.6931), tensor(1.))
    """
    return -_in_base((p * _log(p, p)).sum(-1), base)


@block("divergence.cross_entropy", flops="O(n)", memory="O(n)")
def cross_entropy(
    p: Float[Tensor, "*batch outcomes"], q: Float[Tensor, "*batch outcomes"], *, base: Base = math.e
) -> Float[Tensor, "*batch"]:
    r"""The mean surprise at outcomes of p for one who believes in q.

    $$ H(p, q) = - \sum_i p_i \log q_i = H(p) + \mathrm{KL}(p \Vert q) $$

    The target is p and the prediction is q: the other way round, a target of one certain class would cost an infinity
    whatever is predicted. `loss.cross_entropy` is the same for a q that is given by its logits.

    >>> cross_entropy(torch.tensor([0.0, 1.0]), torch.tensor([0.75, 0.25]))
    tensor(1.3863)
    """
    return -_in_base((p * _log(q, p)).sum(-1), base)


@block("divergence.kl", flops="O(n)", memory="O(n)")
def kl(
    p: Float[Tensor, "*batch outcomes"], q: Float[Tensor, "*batch outcomes"], *, base: Base = math.e
) -> Float[Tensor, "*batch"]:
    r"""The Kullback-Leibler divergence: the mean surprise that believing in q adds, where p is true.

    $$ \mathrm{KL}(p \Vert q) = \sum_i p_i \log \frac{p_i}{q_i} $$

    It is 0 only for p = q, and infinite where something happens that q holds impossible. It is not symmetric, and no
    distance. `torch.nn.KLDivLoss` has log q first, then p, and takes the mean of the terms by default.

    >>> p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])
    >>> kl(p, q), kl(q, p)
    (tensor(0.6931), tensor(inf))
    """
    return _in_base((p * (_log(p, p) - _log(q, p))).sum(-1), base)


@block("divergence.kl_gaussian", flops="O(n)", memory="O(n)")
def kl_gaussian(
    mean: Float[Tensor, "*batch dim"],
    std: Float[Tensor, "*#batch #dim"],
    other_mean: Float[Tensor, "*#batch #dim"] | float = 0.0,
    other_std: Float[Tensor, "*#batch #dim"] | float = 1.0,
    *,
    base: Base = math.e,
) -> Float[Tensor, "*batch"]:
    r"""The Kullback-Leibler divergence of two normal distributions with independent coordinates.

    $$ \mathrm{KL} \left( N(\mu, \sigma^2) \, \Vert \, N(m, s^2) \right)
       = \sum_i \left( \log \frac{s_i}{\sigma_i} + \frac{\sigma_i^2 + (\mu_i - m_i)^2}{2 s_i^2} - \frac{1}{2} \right) $$

    By default the second is the standard normal distribution, as in a variational autoencoder:

    $$ \mathrm{KL} = \frac{1}{2} \sum_i \left( \sigma_i^2 + \mu_i^2 - 1 - \log \sigma_i^2 \right) $$

    It is summed over the coordinates, also over those that share one standard deviation.

    >>> kl_gaussian(torch.zeros(3), torch.tensor([1.0, 1.0, 0.1]))
    tensor(1.8076)
    """
    if not isinstance(other_std, Tensor) and not other_std > 0:
        raise GradlabError(f"divergence.kl_gaussian: other_std must be positive, got {other_std}.")
    ratio, apart = std / other_std, (mean - other_mean) / other_std
    return _in_base((0.5 * (ratio**2 + apart**2 - 1) - ratio.log()).sum(-1), base)


@block("divergence.total_variation", flops="O(n)", memory="O(n)")
def total_variation(
    p: Float[Tensor, "*batch outcomes"], q: Float[Tensor, "*batch outcomes"]
) -> Float[Tensor, "*batch"]:
    r"""The largest difference in probability that an event can have.

    $$ d(p, q) = \max_A | p(A) - q(A) | = \frac{1}{2} \sum_i | p_i - q_i | $$

    The event is that of the outcomes which p holds more likely. It is a distance, and 1 at most.

    >>> total_variation(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5]))
    tensor(0.5000)
    """
    return 0.5 * (p - q).abs().sum(-1)


@block("divergence.lp", flops="O(n)", memory="O(n)")
def lp(
    p: Float[Tensor, "*batch outcomes"], q: Float[Tensor, "*batch outcomes"], *, order: Annotated[float, Ge(1)] = 2.0
) -> Float[Tensor, "*batch"]:
    r"""The distance of two vectors by the norm of an order r.

    $$ d(p, q) = \left( \sum_i | p_i - q_i |^r \right)^{1/r} $$

    r is `order`; with infinity it is the largest difference. Below 1 the triangle inequality would not hold.

    >>> lp(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5]), order=1.0)
    tensor(1.)
    """
    apart = p - q
    # The power of a small difference is soon 0: the largest one is taken out before, and given back after.
    scale = apart.detach().abs().amax(-1, keepdim=True).clamp(min=torch.finfo(apart.dtype).tiny)
    norm: Tensor = torch.linalg.vector_norm(apart / scale, ord=order, dim=-1)
    return scale.squeeze(-1) * norm


@block("divergence.jensen_shannon", flops="O(n)", memory="O(n)")
def jensen_shannon(
    p: Float[Tensor, "*batch outcomes"], q: Float[Tensor, "*batch outcomes"], *, base: Base = math.e
) -> Float[Tensor, "*batch"]:
    r"""How much an outcome tells, on average, of which of two distributions it was drawn from.

    $$ \mathrm{JS}(p, q) = \frac{1}{2} \mathrm{KL}(p \Vert m) + \frac{1}{2} \mathrm{KL}(q \Vert m), \qquad
       m = \frac{p + q}{2} $$

    Symmetric, and log 2 at most. Its square root is a distance, and is what scipy calls `jensenshannon`. Lin 1991,
    doi:10.1109/18.61115.

    >>> jensen_shannon(torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5]))
    tensor(0.2158)
    """
    middle = 0.5 * (p + q)
    return 0.5 * (kl(p, middle, base=base) + kl(q, middle, base=base))


@block("divergence.mutual_information", flops="O(n·d)", memory="O(n·d)", letters="n rows and d columns")
def mutual_information(joint: Float[Tensor, "*batch rows columns"], *, base: Base = math.e) -> Float[Tensor, "*batch"]:
    r"""What one of two variables tells of the other.

    $$ I(X, Y) = \sum_{x, y} p(x, y) \log \frac{p(x, y)}{p(x) \, p(y)} = H(X) + H(Y) - H(X, Y) $$

    `joint` is their table of probabilities, with a row for each x and a column for each y. It is the mean of `pmi`, and
    0 only for independent variables.

    >>> mutual_information(torch.tensor([[0.5, 0.0], [0.0, 0.5]]))
    tensor(0.6931)
    """
    return _in_base((joint * _log_ratio(joint)).sum((-2, -1)), base)


@block("divergence.pmi", flops="O(n·d)", memory="O(n·d)", letters="n rows and d columns")
def pmi(joint: Float[Tensor, "*batch rows columns"], *, base: Base = math.e) -> Float[Tensor, "*batch rows columns"]:
    r"""Pointwise mutual information: how much more often a pair occurs than it would by chance.

    $$ \mathrm{pmi}(x, y) = \log \frac{p(x, y)}{p(x) \, p(y)} $$

    Negative for pairs that are rarer than by chance, and minus infinity for those that never occur. Church & Hanks
    1990, aclanthology.org/J90-1003.

    >>> pmi(torch.tensor([[0.5, 0.0], [0.25, 0.25]]))
    tensor([[ 0.2877,    -inf],
            [-0.4055,  0.6931]])
    """
    return torch.where(joint > 0, _in_base(_log_ratio(joint), base), -torch.inf)


def _log_ratio(joint: Tensor) -> Tensor:
    """A difference of logarithms: the product of two small marginals would be rounded to 0."""
    rows, columns = (joint.sum(axis, keepdim=True).expand_as(joint) for axis in (-1, -2))
    return _log(joint, joint) - _log(rows, joint) - _log(columns, joint)


def _log(x: Tensor, p: Tensor) -> Tensor:
    """log x where p > 0, and 0 elsewhere: there it meets a factor of 0, and an infinity would make a NaN of it."""
    return torch.where(p > 0, x, 1.0).log()


def _in_base(nats: Tensor, base: float) -> Tensor:
    """In units of that base, of which one is as much as the choice among `base` equally likely outcomes."""
    return nats if base == math.e else nats / math.log(base)
