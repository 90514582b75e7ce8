"""Sums, means and largest entries over the edges of each node, at a cost linear in the edges.

A segment is the rows with the same index. On the CPU a sum over neighbours whose weights are not learned is a product
with a sparse matrix: it never makes a row for each edge, and took a quarter of the time of gathering and adding, forward
and backward. Both add in the order of the edges, so that the bits do not depend on the threads.
"""

import warnings
from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

Reduce = Literal["sum", "mean", "max"]
Edges = Int64[Tensor, "2 edges"]
"""A column for each edge: the node that sends, and below it the node that receives."""


def reduce_segments(values: Tensor, index: Tensor, count: int, how: Reduce) -> Tensor:
    """The rows of each of `count` segments as one; a segment without rows is 0.

    >>> reduce_segments(torch.tensor([[1.0], [5.0], [2.0]]), torch.tensor([0, 0, 2]), 3, "max").flatten()
    tensor([5., 0., 2.])
    """
    if how == "max":
        places = index.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
        return values.new_zeros(count, *values.shape[1:]).scatter_reduce(0, places, values, "amax", include_self=False)
    total = values.new_zeros(count, *values.shape[1:]).index_add(0, index, values)
    return total if how == "sum" else total / sizes(index, count).clamp(min=1).view(-1, *[1] * (values.ndim - 1))


def sizes(index: Tensor, count: int) -> Int64[Tensor, " segments"]:
    """How many rows each segment has."""
    return torch.zeros(count, dtype=torch.int64, device=index.device).index_add(0, index, torch.ones_like(index))


def softmax_segments(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Within each segment, and each column by itself, weights that are positive and sum to 1."""
    with torch.no_grad():
        largest = reduce_segments(scores, index, count, "max")
    powers = (scores - largest[index]).exp()
    return powers / reduce_segments(powers, index, count, "sum")[index]


def neighbour_sum(
    x: Float[Tensor, "nodes features"], edges: Edges, weight: Float[Tensor, " edges"]
) -> Float[Tensor, "nodes features"]:
    """What each node receives: the sum of the weighted rows of those that send to it."""
    plain = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and not weight.requires_grad
    if not plain or not edges.shape[1] or torch._C._functorch.peek_interpreter_stack() is not None:
        return reduce_segments(weight[:, None] * x[edges[0]], edges[1], len(x), "sum")
    return _product(_matrix(edges, weight.to(x.dtype), len(x)), x)


def _matrix(edges: Edges, weight: Tensor, nodes: int) -> Tensor:
    """The sparse matrix with the weight of each edge in the row of the node that receives."""
    source, target = edges
    if bool((target[1:] < target[:-1]).any()):
        order = torch.argsort(target, stable=True)
        source, target, weight = source[order], target[order], weight[order]
    offsets = torch.zeros(nodes + 1, dtype=torch.int64)
    offsets[1:] = torch.bincount(target, minlength=nodes).cumsum(0)
    with warnings.catch_warnings():  # torch says once that such matrices may change
        warnings.filterwarnings("ignore", "Sparse CSR")
        return torch.sparse_csr_tensor(offsets, source, weight, (nodes, nodes), check_invariants=False)


def _product(matrix: Tensor, x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR")
        return torch.sparse.mm(matrix, x)
