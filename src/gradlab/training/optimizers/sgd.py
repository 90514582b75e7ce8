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
    r"""Stochastic gradient descent: a step against the gradient of the batch.

    $$ \theta \leftarrow \theta - \eta g $$

    η is `train.lr`, g the gradient, to which weight decay is added. Robbins & Monro 1951, doi:10.1214/aoms/1177729586.
    """
    return _Sgd(parameters)


@optimizers.register("momentum")
def momentum(
    parameters: Parameters,
    *,
    momentum: Momentum = 0.9,
    form: Annotated[Literal["sum", "average"], "sum: v ← m v + g; average: v ← m v + (1 - m) g"] = "sum",
) -> Optimizer:
    r"""Gradient descent with a velocity, which keeps a share of itself from step to step.

    $$ v \leftarrow m v + g \qquad \theta \leftarrow \theta - \eta v $$

    m is `momentum`. The form `average` has (1 - m) g in place of g; it takes the same path as the sum at the rate
    η (1 - m). Polyak 1964, doi:10.1016/0041-5553(64)90137-5.
    """
    return _Sgd(parameters, momentum, dampening=momentum if form == "average" else 0.0)


@optimizers.register("nesterov")
def nesterov(
    parameters: Parameters, *, momentum: Annotated[float, Gt(0), Lt(1), "share of the last velocity that is kept"] = 0.9
) -> Optimizer:
    r"""Momentum whose gradient step looks ahead along the velocity.

    $$ v \leftarrow m v + g \qquad \theta \leftarrow \theta - \eta (g + m v) $$

    m is `momentum`. Sutskever et al. 2013, proceedings.mlr.press/v28/sutskever13.html.
    """
    return _Sgd(parameters, momentum, nesterov=True)
