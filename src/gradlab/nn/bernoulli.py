"""How probable black and white pixels are, from their logits."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gradlab import kernels


def bernoulli_log_probability(
    logits: Float[Tensor, "*samples n numbers"], x: Float[Tensor, "n numbers"]
) -> Float[Tensor, "*samples n"]:
    r"""log p(x) of n rows of numbers that are 0 or 1, under each of their rows of logits; in float32 at least.

    $$ \log p(x) = \sum_i x_i l_i - \log\left(1 + e^{l_i}\right) $$

    >>> bernoulli_log_probability(torch.zeros(3, 1, 2), torch.tensor([[1.0, 0.0]])).exp()
    tensor([[0.2500],
            [0.2500],
            [0.2500]])
    """
    if kernels.run_on(logits.device) and logits.dtype != torch.float64 and not x.requires_grad:
        from gradlab.kernels.bernoulli import BernoulliLogProbability

        rows = logits.reshape(-1, logits.shape[-1]).contiguous()
        each: Tensor = BernoulliLogProbability.apply(rows, x.contiguous())  # type: ignore[no-untyped-call]
        return each.view(logits.shape[:-1])
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return -F.binary_cross_entropy_with_logits(logits, x.to(logits).expand_as(logits), reduction="none").sum(-1)
