"""Functions near a point: slopes, polynomials that meet them there, and what kind of point it is.

A function takes a tensor and gives one; derivatives are exact, by `torch.func`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad, jacrev

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.maths.norms import norm

Function = Callable[[Tensor], Tensor]
Extremum = Literal["minimum", "maximum", "saddle", "undecided"]

_FLAT = 1e-6  # of a gradient, relative to the Hessian: the point is an extremum or saddle as far as numbers can tell
_ZERO = 1e-9  # of an eigenvalue, relative to the largest


@takes_arrays
def gradient(function: Function, at: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    r"""The partial derivatives of a function with one number for its value.

    $$ (\nabla f)_i = \frac{\partial f}{\partial x_i} $$

    >>> gradient(lambda x: x[0] * x[1], torch.tensor([3.0, -2.0]))
    tensor([-2.,  3.])
    """
    _check_number(function, at)
    slopes: Tensor = grad(function)(tensor(at))
    return slopes


@takes_arrays
def jacobian(function: Function, at: Float[Tensor, " n"]) -> Float[Tensor, "m n"]:
    r"""The derivative of each entry of the value by each entry of the point.

    $$ J_{i,j} = \frac{\partial f_i}{\partial x_j} $$

    >>> jacobian(lambda x: torch.stack([x[0] * x[1], x[0] ** 2]), torch.tensor([3.0, -2.0]))
    tensor([[-2.,  3.],
            [ 6.,  0.]])
    """
    slopes: Tensor = jacrev(function)(tensor(at))
    return slopes


@takes_arrays
def hessian(function: Function, at: Float[Tensor, " n"]) -> Float[Tensor, "n n"]:
    r"""The second derivatives of a function with one number for its value: a symmetric matrix.

    $$ H_{i,j} = \frac{\partial^2 f}{\partial x_i \, \partial x_j} $$

    >>> hessian(lambda x: x[0] ** 2 * x[1], torch.tensor([3.0, -2.0]))
    tensor([[-4.,  6.],
            [ 6.,  0.]])
    """
    _check_number(function, at)
    bends: Tensor = jacrev(grad(function))(tensor(at))
    return bends


@takes_arrays
def directional_derivative(function: Function, at: Float[Tensor, " n"], direction: Float[Tensor, " n"]) -> Tensor:
    r"""How fast the value changes on the way from a point in a direction.

    $$ D_v f(x) = \lim_{t \to 0} \frac{f(x + t v) - f(x)}{t} = \langle \nabla f(x), v \rangle $$

    The direction is taken as it is: twice as long, twice as fast.

    >>> directional_derivative(lambda x: x[0] * x[1], torch.tensor([3.0, -2.0]), torch.tensor([1.0, 1.0]))
    tensor(1.)
    """
    at = tensor(at)
    direction = tensor(direction).to(at.dtype)
    if at.shape != direction.shape:
        raise GradlabError(
            f"The point has shape {tuple(at.shape)} and the direction {tuple(direction.shape)}: they must be the same."
        )
    slope: Tensor = torch.tensordot(jacrev(function)(at), direction, dims=at.ndim)
    return slope


@takes_arrays
def steepest_descent(slope: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    r"""The unit vector along which a function with this gradient falls fastest.

    $$ \operatorname*{argmin}_{\lVert y \rVert = 1} \langle y, \nabla f \rangle
       = - \frac{\nabla f}{\lVert \nabla f \rVert}, \qquad \min = - \lVert \nabla f \rVert $$

    Where the gradient is 0 no direction is steepest: there it is 0.

    >>> steepest_descent(torch.tensor([3.0, -4.0]))
    tensor([-0.6000,  0.8000])
    """
    slope = tensor(slope)
    length = norm(slope)[..., None]
    return -slope / torch.where(length == 0, 1.0, length)


@dataclass(frozen=True)
class Polynomial:
    r"""$p(x) = \sum_k c_k (x - a)^k$, with a number or a tensor for a."""

    at: Tensor
    coefficients: list[Tensor]

    def __call__(self, x: Any) -> Tensor:
        step, total = tensor(x).to(self.at.dtype) - self.at, torch.zeros((), dtype=self.at.dtype)
        for coefficient in reversed(self.coefficients):
            total = coefficient + step * total
        return total


def taylor(function: Function, at: Any, degree: int) -> Polynomial:
    r"""The polynomial that has the value and the first derivatives of a function of one number, at a point.

    $$ p(x) = \sum_{k=0}^{d} \frac{f^{(k)}(a)}{k!} (x - a)^k, \qquad f(x) - p(x) = O(|x - a|^{d+1}) $$

    >>> [round(c.item(), 4) for c in taylor(torch.exp, 0.0, 4).coefficients]
    [1.0, 1.0, 0.5, 0.1667, 0.0417]
    """
    if degree < 0:
        raise GradlabError(f"A Taylor polynomial has degree 0 or more, got degree={degree}.")
    at = tensor(at)
    if at.ndim:
        raise GradlabError(
            f"taylor is of functions of one number, and the point has shape {tuple(at.shape)}. "
            "Of several numbers, take linear_approximation or quadratic_approximation."
        )
    _check_number(function, at)
    coefficients, derivative = [], function
    for k in range(degree + 1):
        coefficients.append(derivative(at) / factorial(k))
        derivative = grad(derivative)
    return Polynomial(at, coefficients)


def linear_approximation(function: Function, at: Tensor) -> Function:
    r"""The affine function that meets another at a point, with its slope there.

    $$ \ell(x) = f(a) + J (x - a) $$

    What is left over is of second order: f(a + ε) - ℓ(a + ε) = ½ εᵀ H ε + O(ε³).

    >>> tangent = linear_approximation(lambda x: x[0] * x[1], torch.tensor([3.0, -2.0]))
    >>> tangent(torch.tensor([4.0, -2.0]))
    tensor(-8.)
    """
    at = tensor(at)
    value, slope = function(at), jacrev(function)(at)
    return lambda x: value + torch.tensordot(slope, tensor(x).to(at.dtype) - at, dims=at.ndim)


def quadratic_approximation(function: Function, at: Tensor) -> Function:
    r"""The quadratic function that meets another at a point, with its slope and curvature there.

    $$ q(x) = f(a) + \nabla f^\top (x - a) + \tfrac{1}{2} (x - a)^\top H (x - a) $$

    >>> bowl = quadratic_approximation(lambda x: x[0] * x[1], torch.tensor([3.0, -2.0]))
    >>> bowl(torch.tensor([4.0, 5.0]))
    tensor(20.)
    """
    at = tensor(at)
    line, curvature = linear_approximation(function, at), hessian(function, at)

    def value(x: Tensor) -> Tensor:
        step = tensor(x).to(at.dtype) - at
        return line(x) + 0.5 * step @ curvature @ step

    return value


def extremum(function: Function, at: Tensor) -> Extremum:
    r"""What kind of point it is where the gradient is 0, by the eigenvalues of the Hessian.

    $$ H \succ 0: \text{minimum} \qquad H \prec 0: \text{maximum} \qquad \text{both signs}: \text{saddle} $$

    With an eigenvalue of 0 and no two signs it is undecided: of x⁴ and -x⁴, 0 is a minimum and a maximum.

    >>> extremum(lambda x: x[0] ** 2 - x[1] ** 2, torch.zeros(2))
    'saddle'
    """
    at = tensor(at).double()
    values = torch.linalg.eigvalsh(hessian(function, at).reshape(at.numel(), at.numel()))
    size = float(values.abs().max())
    slope = float(gradient(function, at).abs().max())
    if slope > _FLAT * max(size, 1.0):
        raise GradlabError(f"The gradient is not 0 at this point: its largest entry is {slope:.3g}. Go to where it is.")
    positive, negative = bool((values > _ZERO * size).any()), bool((values < -_ZERO * size).any())
    if positive and negative:
        return "saddle"
    if not (values.abs() > _ZERO * size).all():
        return "undecided"
    return "minimum" if positive else "maximum"


def _check_number(function: Function, at: Tensor) -> None:
    shape = tuple(function(tensor(at)).shape)
    if shape:
        raise GradlabError(
            f"The value of the function has shape {shape}, and must be one number. Take its sum or mean."
        )
