"""Losses: what a prediction costs, by default its mean over the examples. But for the hinges, each is a negative
log-likelihood."""

from math import lgamma, log, pi

import numpy as np

from gradlab.scratch import functions
from gradlab.scratch.dense import Indices
from gradlab.scratch.functions import absolute, exp, log_softmax, relu, softplus, where
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor


def squared(prediction: Tensor, target: Tensor | Array, reduction: str = "mean") -> Tensor:
    """½ (ŷ - y)²: normal noise of variance 1, up to a constant. The half makes its derivative ŷ - y."""
    return reduced(0.5 * (prediction - target) ** 2, reduction)


def absolute_error(prediction: Tensor, target: Tensor | Array, reduction: str = "mean") -> Tensor:
    """|ŷ - y|: Laplace noise. Its best constant is the median, that of the squared loss the mean."""
    return reduced(absolute(prediction - target), reduction)


def huber(prediction: Tensor, target: Tensor | Array, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    """½ e² where |e| ≤ δ, else δ (|e| - ½ δ), with e = ŷ - y: the slope of the square, held at ±δ."""
    error = prediction - target
    near = np.abs(error.value) <= delta
    return reduced(where(near, 0.5 * error**2, delta * (absolute(error) - 0.5 * delta)), reduction)


def cross_entropy(logits: Tensor, classes: Indices, label_smoothing: float = 0.0, reduction: str = "mean") -> Tensor:
    """-log softmax(z)_y. Its derivative by the logits is softmax(z) minus the one-hot vector of y."""
    one_hot = np.eye(logits.shape[-1])[classes]
    return soft_cross_entropy(logits, one_hot, label_smoothing, reduction)


def soft_cross_entropy(
    logits: Tensor, target: Tensor | Array, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """-Σ_c y_c log softmax(z)_c, where a share ε of the target y is first spread evenly over all classes."""
    smoothed = (1 - label_smoothing) * target + label_smoothing / logits.shape[-1]
    return reduced(-(log_softmax(logits) * smoothed).sum(-1), reduction)


def binary_cross_entropy(logits: Tensor, target: Tensor | Array, reduction: str = "mean") -> Tensor:
    """-y log p - (1 - y) log(1 - p) with p = sigmoid(z), which is log(1 + eᶻ) - y z: no logarithm of a rounded 0."""
    return reduced(softplus(logits) - logits * target, reduction)


def hinge(score: Tensor, target: Tensor | Array, reduction: str = "mean") -> Tensor:
    """max(0, 1 - y f) for targets of ±1: nothing beyond the margin, a line below it."""
    return reduced(relu(1 - score * target), reduction)


def squared_hinge(score: Tensor, target: Tensor | Array, reduction: str = "mean") -> Tensor:
    """max(0, 1 - y f)²: its slope has no jump at the margin."""
    return reduced(relu(1 - score * target) ** 2, reduction)


def gaussian(mean: Tensor, target: Tensor | Array, std: Tensor, reduction: str = "mean") -> Tensor:
    """½ log(2πσ²) + (y - μ)² / (2σ²): normal noise of standard deviation σ."""
    return reduced(0.5 * log(2 * pi) + functions.log(std) + 0.5 * ((mean - target) / std) ** 2, reduction)


def poisson(log_rate: Tensor, counts: Array, full: bool = False, reduction: str = "mean") -> Tensor:
    """e^η - y η, where the mean of the counts y is e^η. Left out is log y!, which no η changes, unless it is `full`."""
    constant = np.vectorize(lgamma, otypes=[float])(counts + 1) if full else 0.0
    return reduced(exp(log_rate) - log_rate * counts + constant, reduction)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses' mean, or their sum, or all of them."""
    return {"mean": losses.mean, "sum": losses.sum, "none": lambda: losses}[reduction]()
