"""The gates as functions of tensors, under the names that equations use."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gradlab.scratch import activations, gates
from gradlab.scratch.gates import Array, Gate
from gradlab.scratch.tensor import Operand, Tensor, apply

Mask = npt.NDArray[np.bool_]


def _of_one_tensor(gate: Gate) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        return apply(gate, x)

    function.__name__, function.__doc__ = gate.__name__, gate.__doc__
    function.__wrapped__ = gate  # type: ignore[attr-defined]  # where its code is to be read
    return function


exp = _of_one_tensor(gates.exp)
log = _of_one_tensor(gates.log)
absolute = _of_one_tensor(gates.absolute)
relu = _of_one_tensor(activations.relu)
sigmoid = _of_one_tensor(activations.sigmoid)
tanh = _of_one_tensor(activations.tanh)
softplus = _of_one_tensor(activations.softplus)
silu = _of_one_tensor(activations.silu)
gelu = _of_one_tensor(activations.gelu)
gelu_tanh = _of_one_tensor(activations.gelu_tanh)


def sqrt(x: Tensor) -> Tensor:
    """The square root is a power."""
    return x**0.5


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """x where x > 0, else slope·x."""
    return apply(activations.leaky_relu, x, slope=slope)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """x where x > 0, else slope·x, with a slope that is learned. Its gate is the choice between the two."""
    return where(x.value > 0, x, slope * x)


def step(x: Tensor) -> Tensor:
    """1 where x ≥ 0, else 0. It is flat wherever it has a slope, so it is a constant to what comes before."""
    return constant((x.value >= 0).astype(np.float64))


def argmax(x: Tensor, axis: int = -1) -> Tensor:
    """1 at the largest entry, and 0 at the others; m equal largest ones have 1/m each. A constant, like the step."""
    largest = x.value == x.value.max(axis=axis, keepdims=True)
    return constant(largest / largest.sum(axis=axis, keepdims=True))


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else α(eˣ - 1)."""
    return apply(activations.elu, x, alpha=alpha)


def identity(x: Tensor) -> Tensor:
    """x."""
    return x


def softmax(x: Tensor, axis: int = -1, mask: Mask | None = None) -> Tensor:
    """e^xᵢ / Σⱼ e^xⱼ over the entries where the mask is true, and 0 at the others."""
    return apply(activations.softmax, x, axis=axis, mask=mask)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """xᵢ - log Σⱼ e^xⱼ, without ever forming a probability that could round to 0."""
    return apply(activations.log_softmax, x, axis=axis)


def where(mask: Mask, x: Operand, y: Operand) -> Tensor:
    """x where the mask is true, else y."""
    return apply(gates.where, x, y, mask=mask)


def concatenate(parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Parts laid end to end along an axis."""
    return apply(gates.concatenate, *parts, axis=axis)


def stack(parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Parts laid side by side along a new axis."""
    return apply(gates.stack, *parts, axis=axis)


def pad(x: Tensor, widths: Sequence[tuple[int, int]], fill: float = 0.0) -> Tensor:
    """A frame of constants around x: (before, after) for each axis."""
    return apply(gates.pad, x, widths=widths, fill=fill)


def constant(value: Array) -> Tensor:
    """A tensor by which nothing is derived: data, for instance."""
    return Tensor(value, constant=True)
