"""Adam and AdamW."""

from collections.abc import Callable

import torch
from torch import Tensor

from gradlab.training.optimizers.base import Beta, Epsilon, Group, Optimizer, Parameters, Rate, optimizers


class Adam(Optimizer):
    slots = ("exp_avg", "exp_avg_sq")

    def __init__(self, parameters: Parameters, rule: Callable[..., None], beta1: float, beta2: float, eps: float):
        super().__init__(parameters)
        self.rule, self.apart = rule, rule is torch._fused_adamw_  # whether weight decay is
        self.options = {"beta1": beta1, "beta2": beta2, "eps": eps}

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        adam_update(self.rule, group, gradients, lr, skip, self.options)


def adam_update(
    rule: Callable[..., None],
    group: Group,
    gradients: list[Tensor],
    lr: Rate,
    skip: Tensor | None,
    options: dict[str, float],
) -> None:
    """One of the two fused rules; `options` are its betas and ε."""
    rule(
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
        **options,
    )


@optimizers.register("adam")
def adam(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    r"""A running average of gradients, divided entry by entry by the root of a running average of their squares.

    $$ m \leftarrow \beta_1 m + (1 - \beta_1) g \qquad v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \qquad
       \theta \leftarrow \theta - \eta \frac{\hat m}{\sqrt{\hat v} + \varepsilon} $$

    m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ) after t steps, since both begin at 0. A step moves each parameter by about
    η, whatever the size of its gradients. Weight decay is added to g. Kingma & Ba 2014, arXiv:1412.6980.
    """
    return Adam(parameters, torch._fused_adam_, beta1, beta2, eps)


@optimizers.register("adamw")
def adamw(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    r"""Adam with weight decay apart from the gradient.

    $$ \theta \leftarrow (1 - \eta \lambda) \theta - \eta \frac{\hat m}{\sqrt{\hat v} + \varepsilon} $$

    m̂ and v̂ are those of Adam; λ is `train.weight_decay`, by which all weights then shrink alike. Loshchilov & Hutter
    2017, arXiv:1711.05101.
    """
    return Adam(parameters, torch._fused_adamw_, beta1, beta2, eps)
