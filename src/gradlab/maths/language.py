"""Probabilities of texts: of a whole from its parts, smoothed from counts, and as scores that can be compared."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays
from gradlab.maths.information.checking import distribution


@takes_arrays
def conditionals(joint: Any) -> list[Tensor]:
    r"""Of a table of probabilities, with an axis for each token of a text, those of each token after the ones before.

    $$ P(x_1, \dots, x_T) = \prod_t P(x_t \mid x_1, \dots, x_{t-1}), \qquad
       P(x_t \mid x_{<t}) = \frac{P(x_1, \dots, x_t)}{P(x_1, \dots, x_{t-1})} $$

    The table of the t-th has t axes. After a beginning that never occurs all tokens are equally likely.

    >>> first, second = conditionals([[0.5, 0.0], [0.25, 0.25]])
    >>> second
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]], dtype=torch.float64)
    """
    joint = distribution(joint, "joint", axes=torch.as_tensor(joint).ndim)
    tables, beginning = [], joint.new_ones(())
    for t in range(1, joint.ndim + 1):
        so_far = joint.sum(tuple(range(t, joint.ndim))) if t < joint.ndim else joint
        known = beginning[..., None]
        tables.append(torch.where(known > 0, so_far / torch.where(known > 0, known, 1.0), 1 / joint.shape[t - 1]))
        beginning = so_far
    return tables


def sequence_log_probability(tables: Sequence[Tensor], tokens: Int[Tensor, "*batch length"]) -> Float[Tensor, "*batch"]:
    r"""The log-probability of whole texts, by the chain rule.

    $$ \log P(x_1, \dots, x_T) = \sum_t \log P(x_t \mid x_1, \dots, x_{t-1}) $$

    >>> sequence_log_probability(conditionals([[0.5, 0.0], [0.25, 0.25]]), torch.tensor([1, 0])).exp()
    tensor(0.2500, dtype=torch.float64)
    """
    if tokens.shape[-1] != len(tables):
        raise GradlabError(f"Texts have {tokens.shape[-1]} tokens, and there are conditionals for {len(tables)}.")
    terms = [table[tuple(tokens[..., : t + 1].unbind(-1))].log() for t, table in enumerate(tables)]
    return torch.stack(terms, -1).sum(-1)


@takes_arrays
def perplexity(log_probabilities: Any) -> Tensor:
    r"""As if so many tokens were equally likely at each place: the exponential of the mean surprise.

    $$ \exp \left( -\frac{1}{n} \sum_t \log P(x_t \mid x_{<t}) \right) $$

    1 for a text that was certain, m for one whose m tokens were all alike, and infinite where one was impossible.

    >>> perplexity(torch.tensor([[0.25, 0.25], [1.0, 1.0], [0.5, 0.0]]).log())
    tensor([4., 1., inf])
    """
    log_p = torch.as_tensor(log_probabilities)
    if not log_p.shape[-1:].numel():
        raise GradlabError("perplexity: a text without tokens has none.")
    return (-log_p.mean(-1)).exp()


def smoothed(count: Tensor, total: Tensor, strength: Tensor | float, prior: Tensor | float) -> Tensor:
    r"""The share of what was counted, drawn towards a prior that counts as much as `strength` observations.

    $$ \hat P(x) = \frac{n(x) + \varepsilon \, P(x)}{n + \varepsilon} $$

    n must be the sum of n(x) over all x: of a context, how often it was *followed*. Only then do they sum to 1. Of
    nothing that was counted the prior is left, also with a strength of 0, where the formula says nothing.

    >>> smoothed(torch.tensor([3.0, 1.0, 0.0]), torch.tensor(4.0), 1.0, 1 / 3)
    tensor([0.6667, 0.2667, 0.0667])
    """
    return torch.where(total > 0, (count + strength * prior) / (total + strength), prior)


def length_normalised(
    sums: Float[Tensor, "*any"], lengths: Float[Tensor, "*#any"], penalty: float = 1.0
) -> Float[Tensor, "*any"]:
    r"""The score of a text by the sum of its log-probabilities, so that longer ones can be compared with shorter ones.

    $$ \mathrm{score}(y) = \frac{1}{T^\alpha} \sum_{k=1}^{T} \log P(y_k \mid y_{<k}, x) $$

    With α = `penalty` = 1 it is the logarithm of the geometric mean of the probabilities.

    >>> length_normalised(torch.tensor([-2.0, -3.0]), torch.tensor([1.0, 3.0]))
    tensor([-2., -1.])
    """
    return sums / lengths.pow(penalty)
