"""Every piecewise-linear function of one variable is a network with one hidden layer of ReLU."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.maths.expressiveness.layers import increasing, relu_layers


@takes_arrays
def relu_clamp(x: Float[Tensor, "..."], low: float, high: float) -> Float[Tensor, "..."]:
    r"""`torch.clamp` as two ReLUs.

    $$ \min(\max(x, a), b) = a + \mathrm{relu}(x - a) - \mathrm{relu}(x - b), \qquad a < b $$

    >>> relu_clamp(torch.tensor([-2.0, 0.5, 7.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    if not low < high:
        raise GradlabError(f"relu_clamp: low must be less than high, got {low} and {high}.")
    return low + torch.relu(x - low) - torch.relu(x - high)


@takes_arrays
def piecewise_linear(
    x: Float[Tensor, "..."], breakpoints: Any, slopes: Any, intercept: float = 0.0
) -> Float[Tensor, "..."]:
    r"""A continuous function by its slopes: before the first breakpoint, between each two, and after the last.

    $$ f(x) = c + \lambda_0 \min(x, t_0) + \sum_{\ell=1}^{p} \lambda_\ell
       \min(\max(x - t_{\ell-1}, 0),\; t_\ell - t_{\ell-1}) + \lambda_{p+1} \max(x - t_p, 0) $$

    c is `intercept`, where the first line would meet x = 0.

    >>> piecewise_linear(torch.tensor([-1.0, 0.5, 3.0]), [0.0, 1.0], [0.0, 2.0, -1.0]).tolist()  # up, then down
    [0.0, 1.0, 0.0]
    """
    t, slope = _pieces(breakpoints, slopes)
    after = x[..., None] - t
    lengths = torch.cat([t.diff(), t.new_tensor([torch.inf])])
    first = slope[0] * torch.minimum(x, t[0])
    return intercept + first + (slope[1:] * torch.minimum(after.clamp(min=0), lengths)).sum(-1)


def relu_network(breakpoints: Any, slopes: Any, intercept: float = 0.0) -> nn.Sequential:
    r"""`piecewise_linear` as a network of one hidden layer, with two units more than there are breakpoints.

    $$ f(x) = c + \mathrm{relu}(\lambda_0 x) - \mathrm{relu}(-\lambda_0 x)
       + \sum_{\ell=1}^{p+1} (\lambda_\ell - \lambda_{\ell-1}) \, \mathrm{relu}(x - t_{\ell-1}) $$

    It maps (batch, 1) to (batch, 1), in float64.

    >>> hat = relu_network([0.0, 1.0, 2.0], [0.0, 1.0, -1.0, 0.0])
    >>> hat(torch.tensor([[-1.0], [0.5], [1.0], [5.0]], dtype=torch.float64)).flatten().tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    t, slope = _pieces(breakpoints, slopes)
    rate = slope[:1]
    hidden = torch.cat([rate, -rate, torch.ones_like(t)])[:, None], torch.cat([torch.zeros_like(slope[:2]), -t])
    output = torch.cat([slope.new_tensor([1.0, -1.0]), slope.diff()])[None], slope.new_tensor([intercept])
    return relu_layers([hidden, output])


def interpolating_network(x: Any, y: Any) -> nn.Sequential:
    """The network that goes through points in straight lines, and is level before the first and after the last.

    >>> absolute = interpolating_network([-1, 0, 1], [1, 0, 1])
    >>> absolute(torch.tensor([[-0.5], [0.25], [3.0]], dtype=torch.float64)).flatten().tolist()
    [0.5, 0.25, 1.0]
    """
    t, values = increasing(x, "x"), tensor(y)
    if values.shape != t.shape:
        raise GradlabError(f"There must be one y for each x, got {values.numel()} for {t.numel()}.")
    level = t.new_zeros(1)
    return relu_network(t, torch.cat([level, values.diff() / t.diff(), level]), float(values[0]))


def _pieces(breakpoints: Any, slopes: Any) -> tuple[Tensor, Tensor]:
    t, slope = increasing(breakpoints, "breakpoints"), tensor(slopes)
    if not t.numel() or slope.shape != (len(t) + 1,):
        counts = f"{slope.numel()} slopes for {t.numel()} breakpoints"
        raise GradlabError(f"There must be a breakpoint, and one slope more than breakpoints, got {counts}.")
    return t, slope
