"""Activation gates, and the softmax. Each slope is written with what the forward pass has computed already."""

import math

import numpy as np
import numpy.typing as npt

from gradlab.scratch.gates import Array, Output


def relu(x: Array) -> Output:
    """z = max(x, 0):  dx = dz where x > 0, else 0. At the kink the slope is taken to be 0."""
    return np.maximum(x, 0), (lambda dz: np.where(x > 0, dz, 0.0),)


def leaky_relu(x: Array, *, slope: float = 0.01) -> Output:
    """z = x where x > 0, else slope·x. Not max(x, slope·x), which is another function when slope > 1."""
    steepness = np.where(x > 0, 1.0, slope)
    return steepness * x, (lambda dz: steepness * dz,)


def elu(x: Array, *, alpha: float = 1.0) -> Output:
    """z = x where x > 0, else α(eˣ - 1):  dx = dz where x > 0, else (z + α) dz."""
    z = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))  # the minimum: no overflow on the side not taken
    return z, (lambda dz: np.where(x > 0, 1.0, z + alpha) * dz,)


def sigmoid(x: Array) -> Output:
    """z = 1 / (1 + e⁻ˣ):  dx = z (1 - z) dz."""
    z = _sigmoid(x)
    return z, (lambda dz: z * (1 - z) * dz,)


def tanh(x: Array) -> Output:
    """z = tanh x:  dx = (1 - z²) dz."""
    z = np.tanh(x)
    return z, (lambda dz: (1 - z**2) * dz,)


def softplus(x: Array) -> Output:
    """z = log(1 + eˣ):  dx = sigmoid(x) dz."""
    return np.logaddexp(0, x), (lambda dz: _sigmoid(x) * dz,)


def silu(x: Array) -> Output:
    """z = x s with s = sigmoid(x):  dx = (s + z (1 - s)) dz."""
    s = _sigmoid(x)
    z = x * s
    return z, (lambda dz: (s + z * (1 - s)) * dz,)


def gelu(x: Array) -> Output:
    """z = x Φ(x):  dx = (Φ(x) + x φ(x)) dz, where Φ and φ are the normal distribution function and its density."""
    below = 0.5 * (1 + _erf(x / math.sqrt(2)))
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return x * below, (lambda dz: (below + x * density) * dz,)


def gelu_tanh(x: Array) -> Output:
    """z = x (1 + t)/2 with t = tanh(u), u = √(2/π) (x + 0.044715 x³):  dx = ((1 + t)/2 + x (1 - t²) u'/2) dz."""
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    du = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return x * (1 + t) / 2, (lambda dz: ((1 + t) / 2 + x * (1 - t**2) * du / 2) * dz,)


def softmax(x: Array, *, axis: int = -1, mask: npt.NDArray[np.bool_] | None = None) -> Output:
    """zᵢ = e^xᵢ / Σⱼ e^xⱼ:  dxᵢ = zᵢ (dzᵢ - Σⱼ zⱼ dzⱼ). The sums run over the entries where the mask is true.

    A masked entry has z = 0, so the same rule gives it no gradient. Where all are masked, all of z is 0.
    """
    kept = np.broadcast_to(True if mask is None else mask, x.shape)
    # The result does not change when all x are moved alike; with the largest at 0 no exponential overflows.
    top = np.max(x, axis=axis, keepdims=True, where=kept, initial=-np.inf)
    weights = np.exp(x - top, where=kept, out=np.zeros_like(x))
    sums = weights.sum(axis=axis, keepdims=True)
    z = weights / np.where(sums == 0, 1.0, sums)
    return z, (lambda dz: z * (dz - (z * dz).sum(axis=axis, keepdims=True)),)


def log_softmax(x: Array, *, axis: int = -1) -> Output:
    """zᵢ = xᵢ - log Σⱼ e^xⱼ:  dxᵢ = dzᵢ - softmax(x)ᵢ Σⱼ dzⱼ."""
    moved = x - x.max(axis=axis, keepdims=True)
    z = moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))
    return z, (lambda dz: dz - np.exp(z) * dz.sum(axis=axis, keepdims=True),)


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(x / 2))  # the same function, without an exponential that overflows


def _erf(x: Array) -> Array:
    values: Array = np.vectorize(math.erf, otypes=[np.float64])(x)  # NumPy has no error function; Python has
    return values
