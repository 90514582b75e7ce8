"""Graphs as matrices: A has a row for each node that receives, and in it how often each other node sends to it."""

import numpy as np
import numpy.typing as npt

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import concatenate, constant, exp, leaky_relu
from gradlab.scratch.tensor import Tensor

Edges = npt.NDArray[np.int64]


def adjacency(edges: Edges, nodes: int) -> npt.NDArray[np.float64]:
    """A_ij: the edges from j to i."""
    matrix = np.zeros((nodes, nodes))
    np.add.at(matrix, (edges[1], edges[0]), 1.0)
    return matrix


def messages(x: Tensor, edges: Edges, aggregate: str = "sum") -> Tensor:
    """A x, its rows divided by the number of neighbours for the mean; or the largest of the neighbours' rows."""
    a = adjacency(edges, len(x))
    if aggregate == "max":
        heard = [x[np.flatnonzero(row)].max(0) if row.any() else constant(np.zeros(x.shape[1])) for row in a]
        return concatenate([row.reshape(1, -1) for row in heard], 0)
    scale = np.maximum(a.sum(1, keepdims=True), 1) if aggregate == "mean" else 1.0
    return constant(a / scale) @ x


def graph_convolution(x: Tensor, edges: Edges, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """D^(-1/2) (A + I) D^(-1/2) x Wᵀ + b, with D the row sums of A + I."""
    a = adjacency(edges, len(x)) + np.eye(len(x))
    scale = 1 / np.sqrt(a.sum(1))
    y = constant(scale[:, None] * a * scale) @ dense(x, weight)
    return y if bias is None else y + bias


def graph_sage(x: Tensor, edges: Edges, own: Tensor, bias: Tensor, neighbours: Tensor, aggregate: str) -> Tensor:
    """W x + V (what the neighbours say together) + b."""
    return dense(x, own, bias) + dense(messages(x, edges, aggregate), neighbours)


def graph_attention(
    x: Tensor, edges: Edges, weight: Tensor, receiver: Tensor, sender: Tensor, bias: Tensor, slope: float
) -> Tensor:
    """For each head: softmax over neighbours of LeakyReLU(aᵀ W x_i + cᵀ W x_j), times W x, side by side."""
    a = adjacency(edges, len(x)) + np.eye(len(x))
    heads, size = receiver.shape
    parts = []
    for k in range(heads):
        h = dense(x, weight[k * size : (k + 1) * size])
        heard, said = h @ receiver[k].reshape(-1, 1), h @ sender[k].reshape(-1, 1)
        score = leaky_relu(heard + said.T, slope)
        powers = constant(a) * exp(score)
        parts.append(powers @ h / powers.sum(1, keepdims=True))
    return concatenate(parts, 1) + bias


def pool(x: Tensor, graph: npt.NDArray[np.int64], aggregate: str = "mean") -> Tensor:
    """The rows of each graph as one."""
    rows = [x[np.flatnonzero(graph == g)] for g in range(int(graph.max()) + 1)]
    kinds = {"sum": lambda r: r.sum(0), "mean": lambda r: r.mean(0), "max": lambda r: r.max(0)}
    return concatenate([kinds[aggregate](row).reshape(1, -1) for row in rows], 0)
