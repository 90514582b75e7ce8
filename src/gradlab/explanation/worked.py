"""Convolution and pooling worked out on small numbers, forwards and backwards."""

from dataclasses import dataclass

import numpy as np

from gradlab.scratch import Tensor
from gradlab.scratch.convolution import average_pool2d, conv2d_by_hand, max_pool2d
from gradlab.scratch.gates import Array

_PICTURE = [[0, 1, 3, 2, 1], [3, 0, 0, 2, 3], [0, 0, 3, 1, 2], [2, 2, 2, 0, 0], [1, 2, 2, 0, 3]]
_KERNEL = [[1, 2], [3, -1]]  # another one when it is turned
_BIAS = 1
_GRADIENT = [[4, -4], [8, 4]]  # a mean of four entries has whole numbers for its shares
_WINDOW = (2, 2)


@dataclass(frozen=True)
class Grid:
    """A matrix of the example: its symbol in LaTeX, what it is, and which entries are the largest of their window."""

    symbol: str
    words: str
    values: Array
    largest: Array | None = None

    @property
    def marks(self) -> Array:
        return np.zeros(self.values.shape) if self.largest is None else self.largest

    @property
    def latex(self) -> str:
        rows = r" \\ ".join(" & ".join(map(_number, row)) for row in self.values.tolist())
        return rf"{self.symbol} = \begin{{bmatrix}} {rows} \end{{bmatrix}}"


@dataclass(frozen=True)
class Worked:
    """One picture through a kernel and a pooling, and a gradient back to all of them."""

    forwards: list[Grid]
    backwards: list[Grid]
    mean: list[Grid]
    """The same output and gradient where the pooling takes the mean."""

    entries: list[str]
    """One entry of each derivative as the sum that it is."""

    @classmethod
    def example(cls) -> "Worked":
        x, w, b = Tensor([[_PICTURE]]), Tensor([[_KERNEL]]), Tensor([[[[_BIAS]]]])
        y = conv2d_by_hand(x, w, b.reshape(-1))
        z = max_pool2d(y, _WINDOW)
        z.backward([[_GRADIENT]])
        again = Tensor(y.value)
        mean = average_pool2d(again, _WINDOW)
        mean.backward([[_GRADIENT]])
        largest = _plane(y.grad) != 0
        return cls(
            [
                Grid("x", "the picture", _plane(x.value)),
                Grid("W", f"the kernel; the bias b is {_BIAS}", _plane(w.value)),
                Grid("y", "the kernel at every place, plus b", _plane(y.value), largest),
                Grid("z", "the largest of each window of y, of equal ones the first", _plane(z.value)),
            ],
            [
                Grid(_by("z"), "the gradient that arrives", _plane(z.grad)),
                Grid(_by("y"), "at the largest of each window, 0 elsewhere", _plane(y.grad), largest),
                Grid(_by("W"), "what of x each entry of the kernel met, with the gradient of y", _plane(w.grad)),
                Grid(_by("b"), "the sum of the gradient of y", _plane(b.grad)),
                Grid(_by("x"), "the gradient of y in a frame of zeros, with the kernel turned", _plane(x.grad)),
            ],
            [
                Grid("z", "the mean of each window of y", _plane(mean.value)),
                Grid(_by("y"), "the gradient of z, a quarter to each entry", _plane(again.grad)),
            ],
            [_of_kernel(x, w, y, (0, 1)), _of_picture(x, w, y, (2, 2))],
        )


def _of_kernel(x: Tensor, w: Tensor, y: Tensor, at: tuple[int, int]) -> str:
    """∂ℓ/∂W at one entry: x there, with each gradient of y that is not 0."""
    gradients, pixels = _plane(y.grad), _plane(x.value)
    u, v = at
    terms = [(gradients[i, j], pixels[i + u, j + v]) for i, j in np.argwhere(gradients)]
    return _sum(f"W_{{{u},{v}}}", terms, _plane(w.grad)[at])


def _of_picture(x: Tensor, w: Tensor, y: Tensor, at: tuple[int, int]) -> str:
    """∂ℓ/∂x at one pixel: each gradient of y, not 0, whose place saw it, with the weight by which it did."""
    gradients, kernel = _plane(y.grad), _plane(w.value)
    seen = [(i, j, at[0] - i, at[1] - j) for i, j in np.argwhere(gradients)]
    terms = [(gradients[i, j], kernel[u, v]) for i, j, u, v in seen if (u, v) in np.ndindex(*kernel.shape)]
    return _sum(f"x_{{{at[0]},{at[1]}}}", terms, _plane(x.grad)[at])


def _sum(symbol: str, terms: list[tuple[float, float]], total: float) -> str:
    products = " + ".join(rf"{_factor(a)} \cdot {_factor(b)}" for a, b in terms)
    return f"{_by(symbol)} = {products} = {_number(total)}"


def _by(symbol: str) -> str:
    return rf"\frac{{\partial \ell}}{{\partial {symbol}}}"


def _plane(value: Array | None) -> Array:
    """The one channel of the one picture."""
    assert value is not None
    return value[0, 0]  # type: ignore[no-any-return]


def _number(value: float) -> str:
    return f"{value:g}"


def _factor(value: float) -> str:
    return _number(value) if value >= 0 else f"({_number(value)})"
