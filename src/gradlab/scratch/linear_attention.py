"""Attention with weights φ(q)ᵀφ(k), in the two forms that are equal: all weights at once, and one position at a time.

The first is what it means, and costs n². The second is why it is of use: its state has the same size at every position.
The factored form, `attention.linear`, is the last state read by all queries.
"""

from collections.abc import Callable

import numpy as np

from gradlab.scratch.features import elu_plus_one, positive
from gradlab.scratch.functions import Mask, concatenate, constant, where
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor

FeatureMap = Callable[[Tensor], Tensor]


def weighted(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None = None, features: FeatureMap = elu_plus_one
) -> Tensor:
    """Σⱼ wᵢⱼ vⱼ / Σⱼ wᵢⱼ with wᵢⱼ = φ(qᵢ)ᵀφ(kⱼ), or 0 where the mask is false. A query without keys gets 0."""
    weights = features(queries) @ features(keys).T
    if mask is not None:
        weights = where(np.broadcast_to(mask, weights.shape), weights, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ values / where(total.value == 0, 1.0, total)


def recurrent(queries: Tensor, keys: Tensor, values: Tensor, features: FeatureMap = elu_plus_one) -> Tensor:
    """S ← S + φ(k) vᵀ,  z ← z + φ(k),  o = φ(q)ᵀS / φ(q)ᵀz: a recurrent network. Shapes are (…, length, d)."""
    q, k = features(queries), features(keys)
    total, weight, outputs = constant(np.zeros(1)), constant(np.zeros(1)), []
    for i in range(queries.shape[-2]):
        here = np.s_[..., i : i + 1, :]  # one row, still a matrix
        total, weight = total + k[here].T @ values[here], weight + k[here].T
        outputs.append(q[here] @ total / (q[here] @ weight))
    return concatenate(outputs, axis=-2)


def performer(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    omega: Array,
    mask: Mask | None = None,
    features: Callable[[Tensor, Array], Tensor] = positive,
) -> Tensor:
    """The weights are e^(qᵀk / √d) on average: both vectors are divided by the fourth root of d."""
    root = queries.shape[-1] ** 0.25
    return weighted(queries / root, keys / root, values, mask, lambda x: features(x, omega))
