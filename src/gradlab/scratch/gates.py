"""The gates of a computation: each gives its value z and, for each input, the rule that carries a gradient back.

Write dz for the derivative of the final number with respect to z. A rule is the chain rule at one gate: from dz it
makes dx, the share of the input x. A gate knows arrays alone; `tensor.py` wires gates into a graph, and sums a gradient
over the axes along which NumPy has repeated an input, so that no gate here thinks of broadcasting.

>>> product, (to_x, to_y) = multiply(np.array(3.0), np.array(-2.0))
>>> float(product), float(to_x(np.array(10.0))), float(to_y(np.array(10.0)))
(-6.0, -20.0, 30.0)
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rule = Callable[[Array], Array]
Output = tuple[Array, tuple[Rule, ...]]
Gate = Callable[..., Output]


# Arithmetic, entry by entry


def add(x: Array, y: Array) -> Output:
    """z = x + y:  dx = dz,  dy = dz."""
    return x + y, (lambda dz: dz, lambda dz: dz)


def subtract(x: Array, y: Array) -> Output:
    """z = x - y:  dx = dz,  dy = -dz."""
    return x - y, (lambda dz: dz, lambda dz: -dz)


def multiply(x: Array, y: Array) -> Output:
    """z = x y:  dx = y dz,  dy = x dz. Each input is the slope of the other."""
    return x * y, (lambda dz: y * dz, lambda dz: x * dz)


def divide(x: Array, y: Array) -> Output:
    """z = x / y:  dx = dz / y,  dy = -x dz / y²."""
    return x / y, (lambda dz: dz / y, lambda dz: -x * dz / y**2)


def power(x: Array, y: Array) -> Output:
    """z = x^y:  dx = y x^(y-1) dz,  dy = z log(x) dz."""
    z = x**y
    # Where y = 0 the slope is 0, also at x = 0, where x^(y-1) would be infinite.
    below = np.where(y == 0, 1.0, y - 1)
    return z, (lambda dz: y * x**below * dz, lambda dz: z * np.log(x) * dz)


def exp(x: Array) -> Output:
    """z = e^x:  dx = z dz."""
    z = np.exp(x)
    return z, (lambda dz: z * dz,)


def log(x: Array) -> Output:
    """z = log x:  dx = dz / x."""
    return np.log(x), (lambda dz: dz / x,)


def absolute(x: Array) -> Output:
    """z = |x|:  dx = sign(x) dz, which is 0 at 0."""
    return np.abs(x), (lambda dz: np.sign(x) * dz,)


def where(x: Array, y: Array, *, mask: npt.NDArray[np.bool_]) -> Output:
    """z = x where the mask is true, else y:  each input has dz where it was taken, and 0 elsewhere."""
    return np.where(mask, x, y), (lambda dz: np.where(mask, dz, 0.0), lambda dz: np.where(mask, 0.0, dz))


# Matrices


def matmul(x: Array, y: Array) -> Output:
    """Z = X Y:  dX = dZ Yᵀ,  dY = Xᵀ dZ. Axes before the last two count the matrices of a stack."""
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError(f"matmul takes matrices, got shapes {x.shape} and {y.shape}: make a vector a row or a column.")
    return x @ y, (lambda dz: dz @ y.swapaxes(-1, -2), lambda dz: x.swapaxes(-1, -2) @ dz)


# Pictures


def correlate(x: Array, w: Array) -> Output:
    """Z[n, o, i, j] = Σ_{c,u,v} W[o, c, u, v] X[n, c, i + u, j + v], at every place where the kernel lies inside.

    Both derivatives are such sums again. A pixel has the gradients of all places that saw it: dX = dZ, in a frame of
    zeros one less than the kernel, with W turned by half a circle, its outputs and channels exchanged. A weight has
    those of all pixels that it met: dW = X with dZ for its kernel, where the sum is over the pictures of the batch.
    """

    def dx(dz: Array) -> Array:
        frame = [(size - 1, size - 1) for size in w.shape[2:]]
        turned = w[:, :, ::-1, ::-1].swapaxes(0, 1)
        return _slide(np.pad(dz, [(0, 0), (0, 0), *frame]), turned)

    def dw(dz: Array) -> Array:
        return _slide(x.swapaxes(0, 1), dz.swapaxes(0, 1)).swapaxes(0, 1)

    return _slide(x, w), (dx, dw)


def _slide(x: Array, w: Array) -> Array:
    """The sum of products of a kernel and what lies under it, at every place."""
    patches = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    z: Array = np.einsum("ncijuv,ocuv->noij", patches, w, optimize=True)
    return z


# Many entries into one

Axis = int | tuple[int, ...] | None


def total(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Output:
    """z = Σᵢ xᵢ:  dxᵢ = dz. Every term has the gradient of the sum."""
    return np.sum(x, axis=axis, keepdims=keepdims), (lambda dz: _spread(dz, x.shape, axis, keepdims),)


def mean(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Output:
    """z = (1/n) Σᵢ xᵢ:  dxᵢ = dz / n."""
    z = np.mean(x, axis=axis, keepdims=keepdims)
    n = x.size // z.size
    return z, (lambda dz: _spread(dz, x.shape, axis, keepdims) / n,)


def largest(x: Array, *, axis: int = -1) -> Output:
    """z = maxᵢ xᵢ:  dxᵢ = dz for the winner i, 0 for all others. The first of equal entries wins."""
    winner = np.argmax(x, axis=axis, keepdims=True)

    def dx(dz: Array) -> Array:
        share = np.zeros_like(x)
        np.put_along_axis(share, winner, np.expand_dims(dz, axis), axis)
        return share

    return np.take_along_axis(x, winner, axis).squeeze(axis), (dx,)


def _spread(dz: Array, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """One number for each sum, repeated for each of its terms."""
    if not keepdims:
        dz = np.expand_dims(dz, tuple(range(len(shape))) if axis is None else axis)
    return np.broadcast_to(dz, shape)


# Entries moved, none changed: the gradient goes back the way the value came


def reshape(x: Array, *, shape: tuple[int, ...]) -> Output:
    """The same entries in another shape, and back."""
    return x.reshape(shape), (lambda dz: dz.reshape(x.shape),)


def transpose(x: Array, *, axes: Sequence[int]) -> Output:
    """Axes in another order; the inverse permutation brings the gradient back."""
    return x.transpose(axes), (lambda dz: dz.transpose(np.argsort(axes)),)


def index(x: Array, *, key: Any) -> Output:
    """z = x[key]:  dx[key] += dz. An entry that was taken twice has the sum of both gradients."""

    def dx(dz: Array) -> Array:
        share = np.zeros_like(x)
        np.add.at(share, key, dz)  # share[key] += dz would count a repeated index once
        return share

    return np.asarray(x[key]), (dx,)


def concatenate(*parts: Array, axis: int = 0) -> Output:
    """Parts laid end to end along an axis; each has back the piece of dz that it became."""
    ends = np.cumsum([part.shape[axis] for part in parts])

    def rule(i: int) -> Rule:
        piece = range(int(ends[i]) - parts[i].shape[axis], int(ends[i]))
        return lambda dz: np.take(dz, piece, axis)

    return np.concatenate(parts, axis), tuple(rule(i) for i in range(len(parts)))


def stack(*parts: Array, axis: int = 0) -> Output:
    """Parts laid side by side along a new axis; each has back its own slice of dz."""

    def rule(i: int) -> Rule:
        return lambda dz: np.take(dz, i, axis)

    return np.stack(parts, axis), tuple(rule(i) for i in range(len(parts)))


def pad(x: Array, *, widths: Sequence[tuple[int, int]], fill: float = 0.0) -> Output:
    """A frame of constants around x, so many before and after on each axis; the gradient of the frame is dropped."""
    inside = tuple(slice(before, before + size) for (before, _), size in zip(widths, x.shape, strict=True))
    return np.pad(x, widths, constant_values=fill), (lambda dz: dz[inside],)
