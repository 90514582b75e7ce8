"""Attention: a weighted mean of values, with weights by how well each key fits the query.

Queries have shape (…, queries, d), keys (…, keys, d), values (…, keys, dᵥ); the axes before are heads or a batch. A
mask is true where a query may look. It acts on the scores, before the softmax; a query that may look nowhere gets 0.
"""

import math

import numpy as np

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import Mask, elu, softmax, tanh
from gradlab.scratch.tensor import Tensor


def attend(scores: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """Σⱼ αⱼ vⱼ with α = softmax(scores): what all kinds below have in common."""
    return softmax(scores, mask=mask) @ values


def scaled_dot(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None) -> Tensor:
    """softmax(Q Kᵀ / √d) V. The root keeps the variance of a score at 1 when the entries of q and k have 1."""
    return attend(queries @ keys.T / math.sqrt(queries.shape[-1]), values, mask)


def general(queries: Tensor, keys: Tensor, values: Tensor, weight: Tensor, mask: Mask | None = None) -> Tensor:
    """Scores qᵀ W k, so that queries and keys may differ in length; with W = I they are dot products."""
    return attend(queries @ weight @ keys.T, values, mask)


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


def multi_head(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    heads: int,
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    mask: Mask | None = None,
) -> Tensor:
    """Attention in several subspaces at once: their results side by side, mixed by one more dense layer.

    The three projections lie below one another in one matrix, (3 d, d), as in PyTorch. Inputs are (batch, length, d).
    """
    d = queries.shape[-1]

    def project(x: Tensor, part: int) -> Tensor:
        rows = slice(part * d, (part + 1) * d)
        y = dense(x, in_weight[rows], in_bias[rows])
        return y.reshape(*x.shape[:2], heads, d // heads).transpose(0, 2, 1, 3)

    q, k, v = (project(x, part) for part, x in enumerate((queries, keys, values)))
    mixed = scaled_dot(q, k, v, mask).transpose(0, 2, 1, 3).reshape(*queries.shape)
    return dense(mixed, out_weight, out_bias)


def causal_mask(length: int) -> Mask:
    """True where the key is not later than the query.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return np.tri(length, dtype=bool)
