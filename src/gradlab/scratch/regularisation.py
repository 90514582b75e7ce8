"""Regularisation: dropout in its forms, with the mask drawn apart (true: kept), and what keeps weights small."""

import numpy as np

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import Mask, absolute, sqrt, where
from gradlab.scratch.tensor import Tensor


def kept(shape: tuple[int, ...], p_drop: float, rng: np.random.Generator) -> Mask:
    """A mask that is false with probability p."""
    return rng.random(shape) >= p_drop


def dropout(x: Tensor, mask: Mask, p_drop: float) -> Tensor:
    """y = r x / (1 - p) with r = 0 with probability p, else 1: E[y] = x, so nothing is to be done at test time.

    A mask with one entry for each example drops whole examples: that is stochastic depth.
    """
    return thinned(x, mask) / (1 - p_drop)


def thinned(x: Tensor, mask: Mask) -> Tensor:
    """y = r x, dropout in its first form: E[W y + b] = (1 - p) W x + b, which `dense_after_thinned` makes up for."""
    return x * mask


def dense_after_thinned(x: Tensor, weight: Tensor, bias: Tensor, p_drop: float) -> Tensor:
    """y = (1 - p) W x + b: at test time, the layer that had a thinned input in training. The bias is not scaled."""
    return dense(x, (1 - p_drop) * weight, bias)


def l1_penalty(weight: Tensor, strength: float) -> Tensor:
    """λ Σ |w|."""
    return strength * absolute(weight).sum()


def l2_penalty(weight: Tensor, strength: float) -> Tensor:
    """λ/2 Σ w²."""
    return strength / 2 * (weight**2).sum()


def weight_decay(weight: Tensor, update: Tensor, lr: float, strength: float) -> Tensor:
    """w - η (u + λ w): in gradient descent, where u is the gradient, the step of the loss with an L2 penalty."""
    return weight - lr * (update + strength * weight)


def max_norm(weight: Tensor, longest: float) -> Tensor:
    """w c / ‖w‖ for the weights w into a unit that are longer than c, else w."""
    rows = weight.reshape(len(weight), -1)
    lengths = sqrt((rows**2).sum(axis=1, keepdims=True))
    return where(lengths.value > longest, rows * longest / lengths, rows).reshape(*weight.shape)


def label_smoothing(target: Tensor, smoothing: float) -> Tensor:
    """(1 - ε) t + ε / C."""
    return (1 - smoothing) * target + smoothing / target.shape[-1]
