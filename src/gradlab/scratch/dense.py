"""Layers that mix all features of an example: dense, maxout, embedding; and dropout, which thins them."""

import numpy as np
import numpy.typing as npt

from gradlab.scratch.tensor import Tensor

Indices = npt.NDArray[np.integer]


def dense(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y = W x + b for each row x, with W of shape (outputs, inputs)."""
    y = x @ weight.T
    return y if bias is None else y + bias


def maxout(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """y = max_k (W_k x + b_k), with W of shape (pieces, outputs, inputs) and b of shape (pieces, outputs).

    A maximum of affine maps: convex and piecewise linear. With W₁ = I, W₂ = 0 and b = 0 it is ReLU.
    """
    pieces, outputs = bias.shape
    return dense(x, weight, bias.reshape(pieces, 1, outputs)).max(axis=0)


def embedding(indices: Indices, table: Tensor) -> Tensor:
    """y_t = E[i_t], a row of the table for each index: the product of E with a one-hot vector, without the zeros."""
    return table[indices]


def dropout(x: Tensor, p_drop: float, rng: np.random.Generator) -> Tensor:
    """y = r x / (1 - p) with r = 0 with probability p, else 1: E[y] = x, so nothing is to be done at test time."""
    return thinned(x, p_drop, rng) / (1 - p_drop)


def thinned(x: Tensor, p_drop: float, rng: np.random.Generator) -> Tensor:
    """y = r x, dropout in its first form: E[W y + b] = (1 - p) W x + b, which `dense_after_thinned` makes up for."""
    return x * (rng.random(x.shape) >= p_drop)


def dense_after_thinned(x: Tensor, weight: Tensor, bias: Tensor, p_drop: float) -> Tensor:
    """y = (1 - p) W x + b: at test time, the layer that had a thinned input in training. The bias is not scaled."""
    return dense(x, (1 - p_drop) * weight, bias)
