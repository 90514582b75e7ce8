"""Functions that are networks exactly, and one that is none with one hidden layer."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.maths.expressiveness.layers import relu_layers
from gradlab.maths.expressiveness.piecewise import piecewise_linear, relu_clamp, relu_network
from gradlab.maths.expressiveness.plane import gradient_jump, pyramid, pyramid_network
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

subject("maths.relu_clamp")(relu_clamp)
subject("maths.piecewise_linear")(piecewise_linear)
subject("maths.relu_network")(relu_network)
subject("maths.gradient_jump")(gradient_jump)
subject("maths.pyramid_network")(pyramid_network)


# One variable


@law(
    "maths.relu_clamp", fault=lambda x, low, high: torch.relu(x - low) - torch.relu(x - high), id="clamp-relu-identity"
)
def it_is_the_clamp_with_its_gradient(case: Case) -> float:
    """$a + \\mathrm{relu}(x - a) - \\mathrm{relu}(x - b) = \\min(\\max(x, a), b)$ for $a < b$"""
    low = case.real("a", -2, 2) + 0.005  # no drawn x lies on a kink
    high = low + case.real("b - a", 0.02, 3)
    x = case.tensor("x", case.integer("points", 1, 20), away_from=(low, high))
    return difference(case.build()(x, low, high), x.clamp(low, high), [x])


def _pieces(case: Case) -> tuple[Tensor, Tensor, float]:
    """Breakpoints, slopes and intercept."""
    count = case.integer("breakpoints", 1, 6)
    breakpoints = case.positive("gaps", count).detach().cumsum(0) - case.real("first", 0, 4)
    return breakpoints, case.tensor("slopes", count + 1).detach(), case.real("intercept", -2, 2)


def _points(case: Case) -> Tensor:
    return case.tensor("x", case.integer("points", 1, 20), scale=4.0).detach()


@peer("maths.piecewise_linear", "numpy.interp, and straight on outside")
def _interpolated(case: Case) -> float:
    (t, slopes, c), x = _pieces(case), _points(case)
    knots = torch.cat([t[:1] - 50, t, t[-1:] + 50])
    values = [float(c + slopes[0] * knots[0])]
    for slope, gap in zip(slopes.tolist(), knots.diff().tolist(), strict=True):
        values.append(values[-1] + slope * gap)
    return difference(case.build()(x, t, slopes, c), torch.from_numpy(np.interp(x, knots, values)))


def _with_the_next_breakpoint(breakpoints: Tensor, slopes: Tensor, intercept: float = 0.0) -> nn.Sequential:
    return relu_network(torch.cat([breakpoints[1:], breakpoints[-1:] + 1]), slopes, intercept)


@law("maths.relu_network", fault=_with_the_next_breakpoint, id="pwl-representation")
def it_is_the_piecewise_linear_function_with_two_units_more_than_breakpoints(case: Case) -> float:
    """$f(x) = c + \\lambda_0 x + \\sum_i (\\lambda_i - \\lambda_{i-1}) \\, \\mathrm{relu}(x - t_{i-1})$"""
    (t, slopes, c), x = _pieces(case), _points(case)
    network = case.build()(t, slopes, c)
    units = abs(network[0].out_features - (len(t) + 2))
    return max(difference(network(x[:, None])[:, 0], piecewise_linear(x, t, slopes, c)), float(units))


# Two variables


def _bends(case: Case) -> tuple[nn.Sequential, Tensor, Tensor]:
    """A network of one hidden layer, points on the line of its first unit that lie on no other, and its normal."""
    units = case.integer("units", 1, 6)
    weight, bias = case.tensor("W", units, 2, away_from=(0.0,)).detach(), case.tensor("b", units).detach()
    output = case.tensor("a", 1, units, away_from=(0.0,)).detach()
    network = relu_layers([(weight, bias), (output, torch.zeros(1, dtype=torch.float64))])
    normal = weight[0] / weight[0].norm()
    along = torch.stack([-normal[1], normal[0]])
    points = -bias[0] / weight[0].norm() * normal + case.tensor("places", 40, 1).detach() * 5 * along
    others = points @ weight[1:].T + bias[1:]
    return network, points[(others.abs() > 1e-4).all(1)], normal


def _of_the_value(f: Any, point: Tensor, normal: Tensor, step: float = 1e-6) -> Tensor:
    ahead: Tensor = f(point + 1e-3 * normal) - f(point)
    return ahead.reshape(*point.shape[:-1], 1) * normal / 1e-3


@law("maths.gradient_jump", fault=_of_the_value, id="pwl-2d-counterexample", tolerance=1e-8)
def one_hidden_layer_bends_equally_along_whole_lines_and_a_pyramid_does_not(case: Case) -> float:
    """the jump of $\\nabla \\sum_i a_i \\mathrm{relu}(w_i^\\top x + b_i)$ is one vector on each line

    A network of one hidden layer that were the pyramid would have the jump of -2 on all of x = 0, also where y > 1.
    """
    jump, (network, points, normal) = case.build(), _bends(case)
    jumps = jump(lambda x: network(x)[..., 0], points, normal.expand_as(points))
    right = torch.tensor([1.0, 0.0], dtype=torch.float64)
    inside, beyond = case.real("inside", 0.05, 0.9), case.real("beyond", 1.1, 9)
    at = [jump(pyramid, torch.tensor([0.0, y], dtype=torch.float64), right) for y in (inside, beyond)]
    apart = difference(jumps, jumps[:1].expand_as(jumps)) if len(jumps) else 0.0
    return max(apart, difference(at[0], -2 * right), difference(at[1], 0 * right))


def _one_layer() -> nn.Sequential:
    """The sum of two tents across each other, which is 0 outside of their strips alone."""
    eye, one = torch.eye(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    weights = torch.tensor([[0.5, 0.5, -1.0, -1.0, 0.5, 0.5]], dtype=torch.float64)
    return relu_layers([(eye.repeat(3, 1), torch.cat([one, 0 * one, -one])), (weights, 0 * one[:1])])


@law("maths.pyramid_network", fault=_one_layer, id="pwl-2d-counterexample")
def two_hidden_layers_are_the_pyramid_everywhere(case: Case) -> float:
    """$\\max(0, 1 - |x| - |y|)$ with two hidden layers, of 4 and 1 units"""
    x = case.tensor("x", case.integer("points", 1, 30), 2, scale=case.choice("scale", (0.5, 3.0))).detach()
    return difference(case.build()()(x)[:, 0], (1 - x[:, 0].abs() - x[:, 1].abs()).clamp(min=0))
