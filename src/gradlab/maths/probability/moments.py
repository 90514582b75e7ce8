"""Moments of normal variables: by pairings (Isserlis, Wick), by quadrature (Gauss, Hermite), and by parts (Stein)."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.maths.probability.normal import Normal, check_covariance

Scalar = Callable[[Tensor], Tensor]
"""Of points (…, d), with one number for each."""

_MOST_POINTS = 2_000_000


def pairings(count: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to make pairs of 0, …, count - 1; none for an odd count.

    >>> list(pairings(4))
    [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]]
    """

    def paired(left: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
        if not left:
            yield []
        for i in range(1, len(left)):
            for rest in paired(left[1:i] + left[i + 1 :]):
                yield [(left[0], left[i]), *rest]

    return paired(tuple(range(count)))


@takes_arrays
def isserlis(covariance: Tensor, indices: Sequence[int]) -> Tensor:
    r"""The mean of a product of coordinates of $X \sim N(0, \Sigma)$, each as often as its index is named.

    $$ E[X_{i_1} \cdots X_{i_n}] = \sum_{\text{pairings}} \prod_{\text{pairs}} \Sigma_{i_a i_b},
       \qquad 0 \text{ for odd } n $$

    The first variable is paired with each of the others, and the rest is a shorter product, computed once for each set
    of indices that is left: X₁²⁰ takes ten steps, though it has 654,729,075 pairings. Leading axes of Σ are a batch.

    >>> isserlis(torch.tensor([[2.0, 1.0], [1.0, 3.0]]), [0, 0, 1, 1])
    tensor(8.)
    """
    covariance = tensor(covariance)
    check_covariance(covariance.detach(), "isserlis")
    if any(not 0 <= i < covariance.shape[-1] for i in indices):
        raise GradlabError(f"isserlis: indices are from 0 to {covariance.shape[-1] - 1}, got {list(indices)}.")
    nothing = torch.zeros_like(covariance[..., 0, 0])

    @cache
    def moment(left: tuple[int, ...]) -> Tensor:
        if not left:
            return nothing + 1
        if len(left) % 2:
            return nothing
        first, others = left[0], left[1:]
        terms = (
            others.count(j) * covariance[..., first, j] * moment(_without(others, j)) for j in dict.fromkeys(others)
        )
        return reduce(torch.add, terms)

    return moment(tuple(sorted(indices)))


def _without(indices: tuple[int, ...], j: int) -> tuple[int, ...]:
    place = indices.index(j)
    return indices[:place] + indices[place + 1 :]


def normal_mean(function: Callable[[Tensor], Tensor], normal: Normal, nodes: int = 20) -> Tensor:
    r"""The mean of a function of a normal variable, by Gauss and Hermite's quadrature along each axis.

    $$ E f(X) \approx \sum_{k_1, \dots, k_r} w_{k_1} \cdots w_{k_r} \, f(\mu + R z_k) $$

    Exact for polynomials of a degree below 2 · `nodes`. There are `nodes` to the power of the rank points: for few
    dimensions. The function takes points (…, d).

    >>> normal_mean(lambda x: x[..., 0] ** 4, Normal([0.0], [[2.0]]))
    tensor(12.0000, dtype=torch.float64)
    """
    root = normal.root
    rank = root.shape[-1]
    if normal.mean.ndim > 1 or root.ndim > 2:
        raise GradlabError("normal_mean takes one normal distribution, not a batch of them.")
    if nodes**rank > _MOST_POINTS:
        raise GradlabError(f"normal_mean: {nodes} nodes in {rank} dimensions are too many points. Take fewer nodes.")
    z, w = (torch.from_numpy(x).to(root) for x in np.polynomial.hermite_e.hermegauss(nodes))
    points = torch.cartesian_prod(*[z] * rank).reshape(-1, rank)
    weights = torch.cartesian_prod(*[w / w.sum()] * rank).reshape(-1, rank).prod(-1)
    mean: Tensor = torch.tensordot(weights, function(normal.mean + points @ root.mT), 1)
    return mean


def by_parts(function: Scalar, covariance: Any, index: int, nodes: int = 20) -> Tensor:
    r"""The mean of a coordinate times a function, from the function's slopes: Gaussian integration by parts.

    $$ E[X_i f(X)] = \sum_j \Sigma_{ij} \, E[\partial_j f(X)], \qquad X \sim N(0, \Sigma) $$

    >>> by_parts(lambda x: x[..., 0] * x[..., 1] ** 2, [[2.0, 1.0], [1.0, 3.0]], 0)
    tensor(8.0000, dtype=torch.float64)
    """
    centred = Normal(torch.zeros(len(tensor(covariance))), covariance)
    if not 0 <= index < centred.dim:
        raise GradlabError(f"by_parts: the index is from 0 to {centred.dim - 1}, got {index}.")

    def slopes(x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)[0]

    return centred.covariance[index] @ normal_mean(slopes, centred, nodes)
