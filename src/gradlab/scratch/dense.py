"""Layers that mix all features of an example: dense, maxout, embedding."""

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
