"""Gradient descent, plain and with momentum: when it converges, and how fast."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor
from gradlab.maths.optimisation.path import Objective, Path, look, start_of


def gradient_descent(f: Objective, x0: Any, rate: float, steps: int = 100) -> Path:
    r"""Steps against the gradient.

    $$ \theta_{t+1} = \theta_t - \eta \, \nabla f(\theta_t) $$

    Where f is convex and its gradient L-Lipschitz, it converges for η ≤ 1/L as `rate_bound` says; on a quadratic with
    curvatures up to L, it does for η < 2/L and leaves for more.

    >>> path = gradient_descent(lambda x: (x**2).sum(), [4.0], rate=0.25, steps=3)
    >>> path.points.flatten().tolist()
    [4.0, 2.0, 1.0, 0.5]
    """
    return heavy_ball(f, x0, rate, 0.0, steps)


def heavy_ball(f: Objective, x0: Any, rate: float, momentum: float, steps: int = 100) -> Path:
    r"""Steps that go on in the direction of those before (Polyak 1964).

    $$ v_{t+1} = m \, v_t - \eta \, \nabla f(\theta_t), \qquad \theta_{t+1} = \theta_t + v_{t+1} $$

    >>> heavy_ball(lambda x: (x**2).sum(), [4.0], 0.25, 0.5, steps=2).points.flatten().tolist()
    [4.0, 2.0, 0.0]
    """
    if not rate > 0 or steps < 0:
        raise GradlabError(f"rate must be larger than 0 and steps not negative, got rate={rate} and steps={steps}.")
    x = start_of(x0)
    velocity = torch.zeros_like(x)
    seen = [look(f, x)]
    for _ in range(steps):
        velocity = momentum * velocity - rate * seen[-1].gradient
        seen.append(look(f, seen[-1].x + velocity))
    return Path.of(seen)


def rate_bound(x0: Any, minimiser: Any, rate: float, steps: Any) -> Float[Tensor, "..."]:
    r"""How far above its least value a convex function is at most, t steps of gradient descent after θ₀.

    $$ f(\theta_t) - f(\theta^*) \le \frac{\lVert \theta_0 - \theta^* \rVert^2}{2 \, \eta \, t}, \qquad
       0 < \eta \le \frac1L $$

    L is a Lipschitz constant of the gradient: for a quadratic, its largest curvature.

    >>> rate_bound([3.0, 4.0], [0.0, 0.0], 0.5, [1, 10]).tolist()
    [25.0, 2.5]
    """
    return (start_of(x0) - tensor(minimiser)).square().sum() / (2 * rate * tensor(steps))


@takes_arrays
def spectral_radius(curvature: Float[Tensor, "*batch"], momentum: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r"""By what heavy-ball steps on a parabola multiply the distance in the long run: below 1 they converge.

    $$ \begin{pmatrix} \theta_{t+1} \\ \theta_t \end{pmatrix} =
       \begin{pmatrix} 1 + m - \eta\lambda & -m \\ 1 & 0 \end{pmatrix}
       \begin{pmatrix} \theta_t \\ \theta_{t-1} \end{pmatrix}, \qquad
       \rho < 1 \iff |m| < 1, \; 0 < \eta\lambda < 2 (1 + m) $$

    `curvature` is ηλ, the step size times the second derivative. ρ is the larger root of z² - (1 + m - ηλ) z + m: √m
    where the roots are complex, whatever the step size.

    >>> spectral_radius(torch.tensor([0.5, 2.0, 2.5]), torch.tensor([0.0, 0.0, 0.25])).tolist()
    [0.5, 1.0, 1.0]
    """
    half = (1 + momentum - curvature) / 2
    apart = half**2 - momentum
    real = half.abs() + apart.clamp(min=0).sqrt()
    return torch.where(apart < 0, momentum.clamp(min=0).sqrt(), real)
