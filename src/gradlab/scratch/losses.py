"""Losses: the mean over the examples of what a prediction costs. Each is a negative log-likelihood, up to constants."""

import numpy as np

from gradlab.scratch.dense import Indices
from gradlab.scratch.functions import absolute, exp, log_softmax, softplus, where
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor


def squared(prediction: Tensor, target: Array) -> Tensor:
    """½ (ŷ - y)²: normal noise of variance 1. The half makes its derivative ŷ - y."""
    return (0.5 * (prediction - target) ** 2).mean()


def absolute_error(prediction: Tensor, target: Array) -> Tensor:
    """|ŷ - y|: Laplace noise. Its best constant is the median, that of the squared loss the mean."""
    return absolute(prediction - target).mean()


def huber(prediction: Tensor, target: Array, delta: float = 1.0) -> Tensor:
    """½ e² where |e| ≤ δ, else δ (|e| - ½ δ), with e = ŷ - y: the slope of the square, held at ±δ."""
    error = prediction - target
    near = np.abs(error.value) <= delta
    return where(near, 0.5 * error**2, delta * (absolute(error) - 0.5 * delta)).mean()


def cross_entropy(logits: Tensor, classes: Indices) -> Tensor:
    """-log softmax(z)_y. Its derivative by the logits is softmax(z) minus the one-hot vector of y."""
    return -log_softmax(logits)[np.arange(len(classes)), classes].mean()


def binary_cross_entropy(logits: Tensor, target: Array) -> Tensor:
    """-y log p - (1 - y) log(1 - p) with p = sigmoid(z), which is log(1 + eᶻ) - y z: no logarithm of a rounded 0."""
    return (softplus(logits) - logits * target).mean()


def poisson(log_rate: Tensor, counts: Array) -> Tensor:
    """e^η - y η, where the mean of the counts y is e^η. Left out is log y!, which no η changes."""
    return (exp(log_rate) - log_rate * counts).mean()
