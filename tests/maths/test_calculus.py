"""Slopes, polynomials and extrema of functions with known answers."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial import Polynomial

from gradlab.errors import GradlabError
from gradlab.maths.calculus import (
    directional_derivative,
    extremum,
    gradient,
    hessian,
    jacobian,
    linear_approximation,
    quadratic_approximation,
    steepest_descent,
    taylor,
)


def monkey(x):
    return x[0] ** 3 - 3 * x[0] * x[1] ** 2


@pytest.mark.parametrize("degree", range(6))
def test_the_taylor_polynomial_of_a_polynomial_is_that_polynomial(degree):
    exact = Polynomial([1.0, -2.0, 0.5, 3.0])
    at = 0.7
    shifted = [exact.deriv(k)(at) / math.factorial(k) if k else exact(at) for k in range(degree + 1)]
    approximation = taylor(lambda x: 1 - 2 * x + 0.5 * x**2 + 3 * x**3, at, degree)
    assert [c.item() for c in approximation.coefficients] == pytest.approx(shifted, abs=1e-12)
    if degree >= 3:
        assert approximation(np.array([2.0, -3.0])).tolist() == pytest.approx(exact(np.array([2.0, -3.0])).tolist())


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_remainder_falls_with_the_power_after_the_degree(degree):
    polynomial = taylor(torch.exp, 0.3, degree)
    far, near = (abs(math.exp(0.3 + h) - polynomial(0.3 + h).item()) for h in (0.1, 0.05))
    assert math.log2(far / near) == pytest.approx(degree + 1, abs=0.1)


def test_approximations_of_several_variables():
    at, step = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([0.01, -0.02], dtype=torch.float64)
    line, bowl = linear_approximation(monkey, at), quadratic_approximation(monkey, at)
    assert line(at) == bowl(at) == monkey(at)
    # By hand: ∇ = (3x² - 3y², -6xy) = (-9, -12), H = [[6x, -6y], [-6y, -6x]] = [[6, -12], [-12, -6]]
    assert gradient(monkey, at).tolist() == [-9, -12]
    assert hessian(monkey, at).tolist() == [[6, -12], [-12, -6]]
    assert line(at + step).item() == pytest.approx(-11 - 0.09 + 0.24)
    assert bowl(at + step).item() == pytest.approx(-11 + 0.15 + 0.5 * (6e-4 + 2 * 12 * 2e-4 - 6 * 4e-4))


def test_arrays_are_answered_with_arrays():
    assert isinstance(gradient(monkey, np.array([1.0, 2.0])), np.ndarray)
    assert isinstance(hessian(monkey, np.array([1, 2])), np.ndarray)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x[0] ** 2 + x[0] * x[1] + x[1] ** 2, "minimum"),
        (lambda x: -(x.square().sum()), "maximum"),
        (lambda x: x[0] * x[1], "saddle"),
        (monkey, "undecided"),
        (lambda x: x.pow(4).sum(), "undecided"),
        (lambda x: x[0] ** 2 - x[1] ** 4, "undecided"),
        (lambda x: 1e-8 * (x[0] ** 2 + x[1] ** 2), "minimum"),
    ],
)
def test_extrema(function, kind):
    assert extremum(function, torch.zeros(2)) == kind


def test_extrema_of_one_number():
    assert extremum(torch.cos, torch.tensor(0.0)) == "maximum"
    assert extremum(torch.cos, torch.tensor(math.pi)) == "minimum"


def test_a_slope_is_no_extremum():
    with pytest.raises(GradlabError, match="gradient is not 0 at this point: its largest entry is 1"):
        extremum(lambda x: x[0] + x[1] ** 2, torch.zeros(2))


def test_values_must_be_one_number():
    for function in (gradient, hessian, extremum):
        with pytest.raises(GradlabError, match=r"shape \(2,\), and must be one number"):
            function(lambda x: 2 * x, torch.zeros(2))


def test_bad_points_and_degrees():
    with pytest.raises(GradlabError, match="degree=-1"):
        taylor(torch.exp, 0.0, -1)
    with pytest.raises(GradlabError, match=r"functions of one number, and the point has shape \(2,\)"):
        taylor(torch.exp, torch.zeros(2), 1)
    with pytest.raises(GradlabError, match=r"\(2,\) and the direction \(3,\)"):
        directional_derivative(monkey, torch.zeros(2), torch.zeros(3))


def test_nothing_is_steepest_on_a_plain():
    assert steepest_descent(torch.zeros(2)).tolist() == [0, 0]
    small = torch.tensor([[3e-30, -4e-30], [3.0, -4.0]])  # whose squares are 0
    torch.testing.assert_close(steepest_descent(small), torch.tensor([[-0.6, 0.8], [-0.6, 0.8]]))


def test_the_jacobian_of_a_linear_map_is_its_matrix():
    matrix = torch.arange(6.0).reshape(2, 3)
    assert jacobian(lambda x: matrix @ x, torch.ones(3)).equal(matrix)
