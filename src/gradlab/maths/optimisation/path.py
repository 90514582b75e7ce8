"""Where a minimiser was, and what it saw there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

Objective: TypeAlias = Callable[[Tensor], Tensor]
"""A function of a vector whose value is one number."""


@dataclass(frozen=True)
class Path:
    """All points of a run in order, the first of which is the start."""

    points: Float[Tensor, "steps d"]
    values: Float[Tensor, " steps"]
    gradients: Float[Tensor, "steps d"]

    @classmethod
    def of(cls, points: list[Tensor], values: list[Tensor], gradients: list[Tensor]) -> "Path":
        return cls(torch.stack(points), torch.stack(values), torch.stack(gradients))

    @property
    def lowest(self) -> Float[Tensor, " d"]:
        """The point with the least value."""
        return self.points[self.values.nan_to_num(torch.inf).argmin()]


def value_and_gradient(f: Objective, x: Float[Tensor, " d"]) -> tuple[Tensor, Tensor]:
    """A function and its gradient at a point.

    >>> value_and_gradient(lambda x: (x**2).sum(), torch.tensor([3.0, 1.0]))
    (tensor(10.), tensor([6., 2.]))
    """
    x = x.detach().requires_grad_()
    value = f(x)
    if value.ndim:
        raise GradlabError(f"The function must give one number, got shape {tuple(value.shape)}. Sum or average it.")
    (gradient,) = torch.autograd.grad(value, x, allow_unused=True)
    return value.detach(), torch.zeros_like(x.detach()) if gradient is None else gradient


def start_of(x0: object) -> Float[Tensor, " d"]:
    """The vector that a run begins at."""
    x = tensor(x0).detach()
    if x.ndim != 1:
        raise GradlabError(f"A minimiser starts from a vector, got shape {tuple(x.shape)}.")
    return x
