"""Adam and AdamW."""

from collections.abc import Callable

import torch
from torch import Tensor

from gradlab.training.optimizers.base import Beta, Epsilon, Group, Optimizer, Parameters, Rate, optimizers


class _Adam(Optimizer):
    slots = ("exp_avg", "exp_avg_sq")

    def __init__(self, parameters: Parameters, rule: Callable[..., None], beta1: float, beta2: float, eps: float):
        super().__init__(parameters)
        self.rule = rule
        self.options = {"beta1": beta1, "beta2": beta2, "eps": eps}

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        self.rule(
            group.values,
            gradients,
            group.state["exp_avg"],
            group.state["exp_avg_sq"],
            [],
            group.steps,
            lr=lr,
            weight_decay=group.decay,
            amsgrad=False,
            maximize=False,
            found_inf=skip,
            **self.options,
        )


@optimizers.register("adam")
def adam(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    """θ ← θ - η m̂ / (√v̂ + ε), with m and v running averages of g and g²; weight decay is added to g."""
    return _Adam(parameters, torch._fused_adam_, beta1, beta2, eps)


@optimizers.register("adamw")
def adamw(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    """Adam with weight decay apart from the gradient: θ ← (1 - η λ) θ - η m̂ / (√v̂ + ε)."""
    return _Adam(parameters, torch._fused_adamw_, beta1, beta2, eps)
