"""Lion, the rule found by program search (Chen et al. 2023, arXiv:2302.06675)."""

import torch
from torch import Tensor

from gradlab.training.optimizers.base import Beta, Group, Optimizer, Parameters, Rate, blend, descend, optimizers


class _Lion(Optimizer):
    slots = ("mean",)

    def __init__(self, parameters: Parameters, beta1: float, beta2: float):
        super().__init__(parameters)
        self.beta1, self.beta2 = beta1, beta2

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        mean = group.state["mean"]
        signs = torch._foreach_lerp(mean, gradients, 1 - self.beta1)
        torch._foreach_sign_(signs)
        descend(group.values, signs, lr, skip, decay=group.decay)
        blend(mean, gradients, 1 - self.beta2, skip)


@optimizers.register("lion")
def lion(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.99) -> Optimizer:
    r"""The sign of a running average of gradients: every weight moves by the rate, so the rate is small.

    $$ \theta \leftarrow (1 - \eta \lambda) \theta - \eta \, \mathrm{sign}(\beta_1 m + (1 - \beta_1) g) \qquad
       m \leftarrow \beta_2 m + (1 - \beta_2) g $$

    λ is `train.weight_decay`. Chen et al. 2023, arXiv:2302.06675.
    """
    return _Lion(parameters, beta1, beta2)
