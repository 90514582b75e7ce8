"""Skip connections: ways past a function, which may be a whole network."""

from collections.abc import Callable

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import concatenate, sigmoid
from gradlab.scratch.tensor import Tensor

Function = Callable[[Tensor], Tensor]


def residual(x: Tensor, function: Function) -> Tensor:
    """y = x + F(x)."""
    return x + function(x)


def dense_connection(x: Tensor, function: Function, axis: int = 1) -> Tensor:
    """y = (x, F(x)), side by side."""
    return concatenate([x, function(x)], axis)


def highway(x: Tensor, function: Function, weight: Tensor, bias: Tensor) -> Tensor:
    """y = T H(x) + (1 - T) x with the gate T = σ(W x + b)."""
    gate = sigmoid(dense(x, weight, bias))
    return gate * function(x) + (1 - gate) * x
