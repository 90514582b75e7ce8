"""Feature maps φ with φ(x)ᵀφ(y) = κ(x, y), exactly or on average over random directions ω ~ N(0, I), the rows of Ω."""

import math

import numpy as np

from gradlab.scratch.functions import concatenate, elu, exp
from gradlab.scratch.gates import Array, Output
from gradlab.scratch.tensor import Tensor, apply


def elu_plus_one(x: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1, positive."""
    return elu(x) + 1


def positive(x: Tensor, omega: Array) -> Tensor:
    """φ(x) = e^(-‖x‖²/2) e^(Ωx) / √k:  E φ(x)ᵀφ(y) = e^(xᵀy)."""
    return exp(x @ omega.T - _half_square(x)) / math.sqrt(len(omega))


def cosh(x: Tensor, omega: Array) -> Tensor:
    """φ(x) = e^(-‖x‖²/2) (e^(Ωx), e^(-Ωx)) / √2k, for the same kernel with less variance."""
    both = concatenate([exp(x @ omega.T), exp(x @ -omega.T)], axis=-1)
    return both * exp(-_half_square(x)) / math.sqrt(2 * len(omega))


def fourier(x: Tensor, omega: Array, gamma: float = 1.0) -> Tensor:
    """φ(x) = (cos √2γ Ωx, sin √2γ Ωx) / √k:  E φ(x)ᵀφ(y) = e^(-γ‖x - y‖²)."""
    angles = x @ omega.T * math.sqrt(2 * gamma)
    return concatenate([apply(cosine, angles), apply(sine, angles)], axis=-1) / math.sqrt(len(omega))


def cosine(x: Array) -> Output:
    """z = cos x:  dx = -sin(x) dz."""
    return np.cos(x), (lambda dz: -np.sin(x) * dz,)


def sine(x: Array) -> Output:
    """z = sin x:  dx = cos(x) dz."""
    return np.sin(x), (lambda dz: np.cos(x) * dz,)


def _half_square(x: Tensor) -> Tensor:
    return (x * x).sum(axis=-1, keepdims=True) / 2
