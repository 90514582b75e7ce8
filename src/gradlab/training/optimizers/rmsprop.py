"""RMSprop (Tieleman and Hinton 2012), with the momentum and centring of Graves (arXiv:1308.0850)."""

from typing import Annotated

import torch
from torch import Tensor

from gradlab.training.optimizers.base import (
    Beta,
    Epsilon,
    Group,
    Momentum,
    Optimizer,
    Parameters,
    Rate,
    blend,
    descend,
    optimizers,
)


class _RmsProp(Optimizer):
    def __init__(self, parameters: Parameters, alpha: float, eps: float, momentum: float, centered: bool):
        self.slots = ("square", *["mean"] * centered, *["velocity"] * (momentum > 0))
        super().__init__(parameters)
        self.alpha, self.eps, self.momentum, self.centered = alpha, eps, momentum, centered

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        g, square = group.decayed(gradients), group.state["square"]
        blend(square, torch._foreach_mul(g, g), 1 - self.alpha, skip)
        divisor = torch._foreach_sqrt(self._spread(group, g, skip) if self.centered else square)
        torch._foreach_add_(divisor, self.eps)
        velocities = group.state.get("velocity", ())
        descend(group.values, torch._foreach_div(g, divisor), lr, skip, velocities=velocities, momentum=self.momentum)

    def _spread(self, group: Group, g: list[Tensor], skip: Tensor | None) -> tuple[Tensor, ...]:
        """The variance of the gradient: the mean of its square less the square of its mean."""
        mean = group.state["mean"]
        blend(mean, g, 1 - self.alpha, skip)
        spread = torch._foreach_addcmul(group.state["square"], mean, mean, value=-1)
        torch._foreach_clamp_min_(spread, 0.0)  # of a gradient that stays the same, rounding may make it negative
        return spread


@optimizers.register("rmsprop")
def rmsprop(
    parameters: Parameters,
    *,
    alpha: Beta = 0.99,
    eps: Epsilon = 1e-8,
    momentum: Momentum = 0.0,
    centered: Annotated[bool, "divide by the gradient's standard deviation instead of its root mean square"] = False,
) -> Optimizer:
    r"""The gradient, divided entry by entry by the root of a running average of its squares.

    $$ v \leftarrow \alpha v + (1 - \alpha) g^2 \qquad
       \theta \leftarrow \theta - \eta \frac{g}{\sqrt{v} + \varepsilon} $$

    With `centered`, v is less the square of a running average of g. Weight decay is added to g. Tieleman & Hinton 2012.
    """
    return _RmsProp(parameters, alpha, eps, momentum, centered)
