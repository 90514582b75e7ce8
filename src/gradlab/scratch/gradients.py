"""Derivatives without rules, by which the rules are checked."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor


def numerical_gradient(
    function: Callable[..., Tensor], inputs: Sequence[npt.ArrayLike], step: float = 1e-5
) -> list[Array]:
    """The gradient of a function with one number as its result, by central differences.

    ∂f/∂xᵢ ≈ (f(x + h eᵢ) - f(x - h eᵢ)) / 2h

    The error is of order h² from the curve and of order 1e-16 / h from rounding, together near 1e-10 at h = 1e-5.

    >>> numerical_gradient(lambda x: (x**3).sum(), [[1.0, 2.0]])[0].round(6).tolist()
    [3.0, 12.0]
    """
    arrays = [np.array(x, dtype=np.float64) for x in inputs]  # copies, since their entries are moved
    gradients = [np.zeros_like(array) for array in arrays]
    for array, gradient in zip(arrays, gradients, strict=True):
        for i in np.ndindex(array.shape):
            middle = array[i]
            array[i] = middle + step
            above = function(*map(Tensor, arrays)).value
            array[i] = middle - step
            below = function(*map(Tensor, arrays)).value
            array[i] = middle
            gradient[i] = (above - below).item() / (2 * step)
    return gradients


def check(function: Callable[..., Tensor], *inputs: npt.ArrayLike) -> float:
    """The worst relative error of `backward`, measured by central differences over all entries of all inputs.

    An error is relative to the largest entry of its own gradient. A result of many entries is first summed with
    weights, different for each, so that no two mistakes cancel.

    >>> check(lambda x, y: x * y, [1.0, 2.0], [3.0, 4.0]) < 1e-9
    True
    """

    def number(*tensors: Tensor) -> Tensor:
        result = function(*tensors)
        return (result * np.cos(np.arange(result.value.size)).reshape(result.shape)).sum()

    tensors = [Tensor(x) for x in inputs]
    number(*tensors).backward()
    worst = 0.0
    for tensor, wanted in zip(tensors, numerical_gradient(number, inputs), strict=True):
        computed = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad
        scale = max(float(np.abs(wanted).max(initial=0)), 1e-3)  # a gradient of 0 has no size to compare with
        worst = max(worst, float(np.abs(computed - wanted).max(initial=0)) / scale)
    return worst
