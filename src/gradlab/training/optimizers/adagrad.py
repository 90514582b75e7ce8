"""Adagrad (Duchi, Hazan and Singer 2011)."""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import Tensor

from gradlab.registry import NonNegative
from gradlab.training.optimizers.base import Epsilon, Group, Optimizer, Parameters, Rate, optimizers


class _Adagrad(Optimizer):
    slots = ("sum",)

    def __init__(self, parameters: Parameters, initial: float, eps: float):
        super().__init__(parameters)
        self.eps = eps
        for tensor in self.state["sum"]:
            tensor.fill_(initial)

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        rule: Callable[..., None] = torch._fused_adagrad_
        rule(
            group.values,
            gradients,
            group.state["sum"],
            group.steps,
            lr=lr,
            lr_decay=0.0,  # how the rate falls is the schedule's affair
            weight_decay=group.decay,
            eps=self.eps,
            maximize=False,
            found_inf=skip,
        )


@optimizers.register("adagrad")
def adagrad(
    parameters: Parameters,
    *,
    initial: Annotated[NonNegative, "what the sum of squares starts at"] = 0.0,
    eps: Epsilon = 1e-10,
) -> Optimizer:
    r"""Gradient descent in which each parameter's rate falls with the gradients it has seen.

    $$ s \leftarrow s + g^2 \qquad \theta \leftarrow \theta - \eta \frac{g}{\sqrt{s} + \varepsilon} $$

    Parameters whose gradient is rarely other than 0 keep a large rate. Duchi, Hazan & Singer 2011,
    jmlr.org/papers/v12/duchi11a.html.
    """
    return _Adagrad(parameters, initial, eps)
