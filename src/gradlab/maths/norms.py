"""Norms of vectors: how long they are."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.nn.divergences import lp


@takes_arrays
def norm(x: Float[Tensor, "*batch n"], order: float = 2.0) -> Float[Tensor, "*batch"]:
    r"""The norm of an order p ≥ 1 of the vectors along the last axis.

    $$ \lVert x \rVert_p = \left( \sum_i | x_i |^p \right)^{1/p}, \qquad \lVert x \rVert_\infty = \max_i | x_i | $$

    p = 1 is the length of a way along the axes, p = 2 that of a straight one. Below 1 a detour could be shorter: such
    orders are refused.

    >>> x = torch.tensor([3.0, -4.0])
    >>> [norm(x, p).item() for p in (1, 2, float("inf"))]
    [7.0, 5.0, 4.0]
    """
    if not order >= 1:
        raise GradlabError(
            f"norm(order={order}) would break the triangle inequality. Take an order of 1 or more; infinity too."
        )
    x = tensor(x)
    if not x.ndim:
        raise GradlabError("norm takes vectors along the last axis, and a single number has none. Take its abs().")
    return lp(x, torch.zeros_like(x), order=float(order))
