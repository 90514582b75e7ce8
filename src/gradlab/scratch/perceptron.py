"""The perceptron and its learning rule, which needs no derivative."""

import numpy as np

from gradlab.scratch.gates import Array


def perceptron(x: Array, weight: Array, bias: float) -> Array:
    """y = 1 where wᵀx + b ≥ 0, else 0, for each row x."""
    return np.where(x @ weight + bias >= 0, 1.0, 0.0)


def learn(x: Array, target: Array, weight: Array, bias: float, lr: float = 1.0) -> tuple[Array, float]:
    """w ← w + η (t - y) x,  b ← b + η (t - y), for one example after the other."""
    for example, wanted in zip(x, target, strict=True):
        error = wanted - perceptron(example, weight, bias)
        weight, bias = weight + lr * error * example, bias + lr * error
    return weight, bias
