"""Attention: a weighted mean of values, with weights by how well each key fits the query.

Queries have shape (…, queries, d), keys (…, keys, d), values (…, keys, dᵥ); the axes before are heads or a batch. A
mask is true where a query may look. It acts on the scores, before the softmax; a query that may look nowhere gets 0.
"""

import math

import numpy as np

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import Mask, constant, elu, relu, softmax, sqrt, tanh, where
from gradlab.scratch.tensor import Tensor


def attend(scores: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """Σⱼ αⱼ vⱼ with α = softmax(scores): what all kinds below have in common."""
    return softmax(scores, mask=mask) @ values


def dot(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """softmax(Q Kᵀ) V."""
    return attend(queries @ keys.T, values, mask)


def scaled_dot(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, scale: float | None = None
) -> Tensor:
    """softmax(Q Kᵀ / √d) V. The root keeps the variance of a score at 1 when the entries of q and k have 1."""
    scale = 1 / math.sqrt(queries.shape[-1]) if scale is None else scale
    return attend(queries @ keys.T * scale, values, mask)


def general(queries: Tensor, keys: Tensor, values: Tensor, weight: Tensor, mask: Mask | None = None) -> Tensor:
    """Scores qᵀ W k, so that queries and keys may differ in length; with W = I they are dot products."""
    return attend(queries @ weight @ keys.T, values, mask)


def reduced_rank(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    mask: Mask | None = None,
) -> Tensor:
    """Scores (U q)ᵀ (V k): general ones, with W = Uᵀ V of low rank."""
    return attend(dense(queries, query_weight) @ dense(keys, key_weight).T, values, mask)


def additive(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    score_weight: Tensor,
    mask: Mask | None = None,
) -> Tensor:
    """Scores wᵀ tanh(A q + B k), a small network's opinion of each pair, where the dot product has none to learn."""
    from_queries, from_keys = dense(queries, query_weight), dense(keys, key_weight)
    *before, n, hidden = from_queries.shape
    *_, m, _ = from_keys.shape
    pairs = tanh(from_queries.reshape(*before, n, 1, hidden) + from_keys.reshape(*before, 1, m, hidden))
    scores = (pairs @ score_weight.reshape(hidden, 1)).reshape(*before, n, m)
    return attend(scores, values, mask)


def linear(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """φ(qᵢ)ᵀ Σⱼ φ(kⱼ) vⱼᵀ / φ(qᵢ)ᵀ Σⱼ φ(kⱼ) with φ = elu + 1 > 0.

    Both sums over j are the same for all queries, so n queries and keys cost n steps and not n². The divisor is each
    query's own.
    """
    q, k = elu(queries) + 1, elu(keys) + 1
    return q @ (k.T @ values) / (q @ k.sum(axis=-2, keepdims=True).T)


def hard(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """The value of the key with the largest qᵀ k. To the queries and keys it is a constant."""
    scores = (queries @ keys.T).value
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    best = seen & (scores == np.max(scores, axis=-1, keepdims=True, where=seen, initial=-np.inf))
    return constant(best / np.maximum(best.sum(axis=-1, keepdims=True), 1)) @ values


def gaussian(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, width: float = 1.0) -> Tensor:
    """Weights in proportion to exp(-½ ‖q - k‖² / w²): their softmax is that of the exponents."""
    return attend(-0.5 * squared_distances(queries, keys) / width**2, values, mask)


def boxcar(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, width: float = 1.0) -> Tensor:
    """The mean of the values whose keys are within the width."""
    near = squared_distances(queries, keys).value <= width**2
    return pooled(constant(near.astype(np.float64)), values, mask)


def epanechnikov(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, width: float = 1.0) -> Tensor:
    """Weights in proportion to max(0, 1 - ‖q - k‖² / w²)."""
    return pooled(relu(1 - squared_distances(queries, keys) / width**2), values, mask)


def triangular(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, width: float = 1.0) -> Tensor:
    """Weights in proportion to max(0, 1 - ‖q - k‖ / w)."""
    return pooled(relu(1 - sqrt(squared_distances(queries, keys)) / width), values, mask)


def squared_distances(queries: Tensor, keys: Tensor) -> Tensor:
    """‖qᵢ - kⱼ‖² of each pair."""
    *before, n, d = queries.shape
    differences = queries.reshape(*before, n, 1, d) - keys.reshape(*before, 1, -1, d)
    return (differences**2).sum(axis=-1)


def pooled(kernel: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """Σⱼ αⱼ vⱼ / Σⱼ αⱼ, and 0 where no α is above 0."""
    kernel = kernel if mask is None else where(mask, kernel, 0.0)
    total = kernel.sum(axis=-1, keepdims=True)
    return kernel @ values / where(total.value > 0, total, 1.0)


def multi_head(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    heads: int,
    in_weight: Tensor,
    in_bias: Tensor | None,
    out_weight: Tensor,
    out_bias: Tensor | None,
    mask: Mask | None = None,
) -> Tensor:
    """Attention in several subspaces at once: their results side by side, mixed by one more dense layer.

    The three projections lie below one another in one matrix, (3 d, d), as in PyTorch. Inputs are (batch, length, d).
    A head has as many features as `out_weight` takes of it. Keys and values may have fewer heads, as the rows that are
    left for them tell: each then serves several heads of queries that lie side by side.
    """
    size = out_weight.shape[1] // heads
    key_heads = (in_weight.shape[0] // size - heads) // 2

    def project(x: Tensor, first: int, count: int) -> Tensor:
        rows = slice(first * size, (first + count) * size)
        y = dense(x, in_weight[rows], None if in_bias is None else in_bias[rows])
        return y.reshape(*x.shape[:2], count, size).transpose(0, 2, 1, 3)

    served = np.arange(heads) // (heads // key_heads)
    q, k, v = project(queries, 0, heads), project(keys, heads, key_heads), project(values, heads + key_heads, key_heads)
    pooled = scaled_dot(q, k[:, served], v[:, served], mask).transpose(0, 2, 1, 3)
    return dense(pooled.reshape(*queries.shape[:2], heads * size), out_weight, out_bias)


def causal_mask(queries: int, keys: int | None = None) -> Mask:
    """True where the key is not later than the query. The last query stands at the last key.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    keys = queries if keys is None else keys
    return np.tri(queries, keys, keys - queries, dtype=bool)
