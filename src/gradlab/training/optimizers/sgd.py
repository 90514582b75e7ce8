"""Gradient descent, plain and with momentum."""

from typing import Annotated, Literal

from annotated_types import Gt, Lt
from torch import Tensor

from gradlab.training.optimizers.base import Group, Momentum, Optimizer, Parameters, Rate, descend, optimizers


class _Sgd(Optimizer):
    def __init__(self, parameters: Parameters, momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False):
        self.slots = ("velocity",) if momentum else ()
        super().__init__(parameters)
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        descend(
            group.values,
            gradients,
            lr,
            skip,
            decay=group.decay,
            velocities=group.state.get("velocity", ()),
            momentum=self.momentum,
            dampening=self.dampening,
            nesterov=self.nesterov,
        )


@optimizers.register("sgd")
def sgd(parameters: Parameters) -> Optimizer:
    """θ ← θ - η g"""
    return _Sgd(parameters)


@optimizers.register("momentum")
def momentum(
    parameters: Parameters,
    *,
    momentum: Momentum = 0.9,
    form: Annotated[Literal["sum", "average"], "sum: v ← m v + g; average: v ← m v + (1 - m) g"] = "sum",
) -> Optimizer:
    """v ← m v + g (or its average), θ ← θ - η v. The average takes the same path as the sum at the rate η (1 - m)."""
    return _Sgd(parameters, momentum, dampening=momentum if form == "average" else 0.0)


@optimizers.register("nesterov")
def nesterov(
    parameters: Parameters, *, momentum: Annotated[float, Gt(0), Lt(1), "share of the last velocity that is kept"] = 0.9
) -> Optimizer:
    """v ← m v + g, θ ← θ - η (g + m v): the gradient step looks ahead along the velocity."""
    return _Sgd(parameters, momentum, nesterov=True)
