"""Sums, means and largest entries over the edges of each node, at a cost linear in the edges.

A segment is the rows with the same index. On the CPU a sum over neighbours whose weights are not learned is a product
with a sparse matrix: it never makes a row for each edge, and took a tenth of the time of gathering and adding, forward
and backward. Both add in the order of the edges, so that the bits do not depend on the threads.
"""

import warnings
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

_SPARSE = 4096  # edges, from which on the matrix pays

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
        # From -inf: a start of 0 would share the gradient with entries that are 0.
        least = values.new_full((count, *values.shape[1:]), -torch.inf)
        largest = least.scatter_reduce(0, places, values, "amax")
        return torch.where(largest == -torch.inf, 0.0, largest)
    total = values.new_zeros(count, *values.shape[1:]).index_add(0, index, values)
    return total if how == "sum" else total / sizes(index, count).clamp(min=1).view(-1, *[1] * (values.ndim - 1))


def sizes(index: Tensor, count: int) -> Int64[Tensor, " segments"]:
    """How many rows each segment has."""
    if index.device.type == "cpu" and not transformed():
        return torch.bincount(index, minlength=count)
    return torch.zeros(count, dtype=torch.int64, device=index.device).index_add(0, index, torch.ones_like(index))


def softmax_segments(scores: Tensor, index: Tensor, count: int) -> Tensor:
    """Within each segment, and each column by itself, weights that are positive and sum to 1."""
    with torch.no_grad():
        largest = reduce_segments(scores, index, count, "max")
    powers = (scores - largest[index]).exp()
    return powers / reduce_segments(powers, index, count, "sum")[index]


def transformed() -> bool:
    """Whether the code is compiled, or mapped or differentiated by torch.func: values are then not at hand."""
    return torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None


def neighbour_sum(
    x: Float[Tensor, "nodes features"], edges: Edges, weight: Float[Tensor, " edges"]
) -> Float[Tensor, "nodes features"]:
    """What each node receives: the sum of the weighted rows of those that send to it."""
    plain = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and not weight.requires_grad
    if not plain or edges.shape[1] < _SPARSE or transformed():
        return reduce_segments(weight[:, None] * x[edges[0]], edges[1], len(x), "sum")
    product: Tensor = _Product.apply(x, edges, weight.to(x.dtype))  # type: ignore[no-untyped-call]
    return product


class _Product(torch.autograd.Function):
    """The product of a sparse matrix of constants with x; its gradient is that of the transposed matrix with dy."""

    @staticmethod
    def forward(context: Any, x: Tensor, edges: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(edges, weight)
        return _multiplied(x, edges, weight, receiver=1)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        edges, weight = context.saved_tensors
        return _multiplied(gradients[0], edges, weight, receiver=0), None, None


def _multiplied(x: Tensor, edges: Tensor, weight: Tensor, receiver: int) -> Tensor:
    """With the weight of each edge in the row of the node that receives."""
    order, offsets, columns = _rows(edges, len(x), receiver)
    with warnings.catch_warnings():  # torch says once that such matrices may change
        warnings.filterwarnings("ignore", "Sparse CSR")
        matrix = torch.sparse_csr_tensor(offsets, columns, weight[order], (len(x), len(x)), check_invariants=False)
        with torch._C.DisableTorchFunction():  # counters would take it for a product of full matrices
            return matrix @ x


# How edges are sorted, by the tensor that has them: a training on one graph asks for it in every step.
_known = WeakIdKeyDictionary()


def _rows(edges: Tensor, nodes: int, receiver: int) -> tuple[Tensor, Tensor, Tensor]:
    """The order of the edges by their row, where each row begins, and the columns, as a matrix by rows has them."""
    version = edges._version, nodes
    known = _known.get(edges)  # type: ignore[no-untyped-call]
    if known is None or known[0] != version:
        known = _known[edges] = (version, {})
    if receiver not in known[1]:
        order = torch.argsort(edges[receiver], stable=True)
        offsets = torch.zeros(nodes + 1, dtype=torch.int64)
        offsets[1:] = torch.bincount(edges[receiver], minlength=nodes).cumsum(0)
        known[1][receiver] = order, offsets, edges[1 - receiver][order]
    rows: tuple[Tensor, Tensor, Tensor] = known[1][receiver]
    return rows
