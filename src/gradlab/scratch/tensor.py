"""A tensor that remembers how it was made, and from that memory finds its derivatives.

Each operation makes a new tensor and notes the gate, its inputs (the parents) and the rules that carry a gradient back
to them. The tensors of a computation are thus a graph without cycles, and `backward` walks it once, from the result to
the start: the derivatives by all inputs together cost a few times what the result does, however many inputs there are.

>>> x = Tensor(3.0)
>>> y = x * x + 2 * x
>>> y.backward()
>>> float(y.value), float(x.grad)
(15.0, 8.0)
"""

from collections.abc import Iterator
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from gradlab.scratch import gates
from gradlab.scratch.gates import Array, Axis, Gate, Rule

Operand = Union["Tensor", npt.ArrayLike]
"""What may meet a tensor in an operation: another one, or an array or a number, which then is a constant."""


class Tensor:
    """An array of float64, its gradient, and its place in the graph of the computation."""

    # Else NumPy would work out `array * tensor` itself, entry by entry; so it leaves it to `Tensor.__rmul__`.
    __array_ufunc__ = None

    def __init__(self, value: npt.ArrayLike, name: str = "", *, constant: bool = False):
        self.value: Array = np.asarray(value, dtype=np.float64)
        self.name = name
        self.constant = constant
        self.grad: Array | None = None
        self.gate = ""
        self.parents: tuple[Tensor, ...] = ()
        self._rules: tuple[Rule, ...] = ()

    def backward(self, gradient: npt.ArrayLike | None = None) -> None:
        """Adds to the `grad` of every tensor that this one was made from the derivative of this one by it.

        A tensor of many numbers y needs a gradient g of its shape, and then it is Σᵢ gᵢ yᵢ that is derived. What
        several calls add stays, until `grad` is set to None.
        """
        if gradient is None and self.value.size != 1:
            raise ValueError(
                f"backward() starts from one number, not from shape {self.shape}: sum it, or pass the gradient."
            )
        arrived = {self: np.ones(self.shape) if gradient is None else np.broadcast_to(_array(gradient), self.shape)}
        for node in _from_result_to_inputs(self):
            dz = arrived.pop(node)  # complete: whatever uses this node came before it
            node.grad = dz.copy() if node.grad is None else node.grad + dz
            for parent, rule in zip(node.parents, node._rules, strict=True):
                if not parent.constant:
                    share = unbroadcast(np.asarray(rule(dz)), parent.shape)
                    arrived[parent] = arrived[parent] + share if parent in arrived else share

    # Operators: each is one gate

    def __add__(self, other: Operand) -> "Tensor":
        return apply(gates.add, self, other)

    def __radd__(self, other: Operand) -> "Tensor":
        return apply(gates.add, other, self)

    def __sub__(self, other: Operand) -> "Tensor":
        return apply(gates.subtract, self, other)

    def __rsub__(self, other: Operand) -> "Tensor":
        return apply(gates.subtract, other, self)

    def __mul__(self, other: Operand) -> "Tensor":
        return apply(gates.multiply, self, other)

    def __rmul__(self, other: Operand) -> "Tensor":
        return apply(gates.multiply, other, self)

    def __truediv__(self, other: Operand) -> "Tensor":
        return apply(gates.divide, self, other)

    def __rtruediv__(self, other: Operand) -> "Tensor":
        return apply(gates.divide, other, self)

    def __pow__(self, other: Operand) -> "Tensor":
        return apply(gates.power, self, other)

    def __rpow__(self, other: Operand) -> "Tensor":
        return apply(gates.power, other, self)

    def __matmul__(self, other: Operand) -> "Tensor":
        return apply(gates.matmul, self, other)

    def __rmatmul__(self, other: Operand) -> "Tensor":
        return apply(gates.matmul, other, self)

    def __neg__(self) -> "Tensor":
        return self * -1.0

    def __getitem__(self, key: Any) -> "Tensor":
        return apply(gates.index, self, key=key)

    # Sums and shapes

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        return apply(gates.total, self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        return apply(gates.mean, self, axis=axis, keepdims=keepdims)

    def max(self, axis: int | None = None) -> "Tensor":
        return self.reshape(-1).max(0) if axis is None else apply(gates.largest, self, axis=axis)

    def reshape(self, *shape: int) -> "Tensor":
        return apply(gates.reshape, self, shape=shape)

    def transpose(self, *axes: int) -> "Tensor":
        return apply(gates.transpose, self, axes=axes)

    @property
    def T(self) -> "Tensor":
        """The transposed matrix, or each matrix of a stack transposed: the last two axes change places."""
        *others, rows, columns = range(self.value.ndim)
        return self.transpose(*others, columns, rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Tensor({np.array2string(self.value, separator=', ')}{', ' + self.name if self.name else ''})"


def apply(gate: Gate, *inputs: Any, **settings: Any) -> Tensor:
    """The tensor that a gate makes of its inputs, with what it takes to go back."""
    parents = tuple(x if isinstance(x, Tensor) else Tensor(x, constant=True) for x in inputs)
    value, rules = gate(*(parent.value for parent in parents), **settings)
    result = Tensor(value, constant=all(parent.constant for parent in parents))
    result.gate, result.parents, result._rules = gate.__name__, parents, rules
    return result


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an input that NumPy has repeated to the shape of the gradient: the sum over its copies.

    >>> unbroadcast(np.ones((4, 2, 3)), (2, 1)).tolist()
    [[12.0], [12.0]]
    """
    new = gradient.ndim - len(shape)
    repeated = tuple(i for i in range(gradient.ndim) if i < new or shape[i - new] == 1 != gradient.shape[i])
    return gradient.sum(axis=repeated).reshape(shape) if repeated else gradient


def _from_result_to_inputs(result: Tensor) -> list[Tensor]:
    """The graph behind a tensor in an order in which each one comes after all that were made from it.

    The depth-first search keeps its own stack, since Python's ends at some thousand calls, and a graph may be deeper.
    """
    finished: list[Tensor] = []
    seen = {result}
    path = [(result, iter(result.parents))]
    while path:
        node, waiting = path[-1]
        for parent in waiting:
            if parent not in seen and not parent.constant:
                seen.add(parent)
                path.append((parent, iter(parent.parents)))
                break
        else:
            finished.append(node)
            path.pop()
    return finished[::-1]


def _array(value: npt.ArrayLike) -> Array:
    return np.asarray(value, dtype=np.float64)
