"""Adadelta (Zeiler 2012, arXiv:1212.5701)."""

import torch
from torch import Tensor

from gradlab.training.optimizers.base import (
    Beta,
    Epsilon,
    Group,
    Optimizer,
    Parameters,
    Rate,
    blend,
    descend,
    optimizers,
)


class _Adadelta(Optimizer):
    slots = ("square", "moved")

    def __init__(self, parameters: Parameters, rho: float, eps: float):
        super().__init__(parameters)
        self.rho, self.eps = rho, eps

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        g, square, moved = group.decayed(gradients), group.state["square"], group.state["moved"]
        blend(square, torch._foreach_mul(g, g), 1 - self.rho, skip)
        steps = torch._foreach_div(self._root(moved), self._root(square))
        torch._foreach_mul_(steps, g)
        blend(moved, torch._foreach_mul(steps, steps), 1 - self.rho, skip)
        descend(group.values, steps, lr, skip)

    def _root(self, squares: list[Tensor]) -> tuple[Tensor, ...]:
        """√(x + ε): here ε is inside, and starts the motion."""
        roots = torch._foreach_add(squares, self.eps)
        torch._foreach_sqrt_(roots)
        return roots


@optimizers.register("adadelta")
def adadelta(parameters: Parameters, *, rho: Beta = 0.9, eps: Epsilon = 1e-6) -> Optimizer:
    r"""Steps whose size follows from those before them; made for train.lr=1.

    $$ v \leftarrow \rho v + (1 - \rho) g^2 \qquad
       \Delta = \frac{\sqrt{u + \varepsilon}}{\sqrt{v + \varepsilon}} g \qquad
       u \leftarrow \rho u + (1 - \rho) \Delta^2 \qquad \theta \leftarrow \theta - \eta \Delta $$

    Zeiler 2012, arXiv:1212.5701.
    """
    return _Adadelta(parameters, rho, eps)
