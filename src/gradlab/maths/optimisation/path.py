"""Where a minimiser was, and what it saw there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

Objective: TypeAlias = Callable[[Tensor], Tensor]
"""A function of a vector whose value is one number."""


class Seen(NamedTuple):
    """A point, and the value and the gradient of a function there."""

    x: Tensor
    value: Tensor
    gradient: Tensor


Ask: TypeAlias = Callable[[Tensor], Seen]
"""What a minimiser may ask of a function."""


@dataclass(frozen=True)
class Path:
    """All points of a run in order, the first of which is the start."""

    points: Float[Tensor, "steps d"]
    values: Float[Tensor, " steps"]
    gradients: Float[Tensor, "steps d"]

    @classmethod
    def of(cls, seen: Sequence[Seen]) -> "Path":
        return cls(*(torch.stack(each) for each in zip(*seen, strict=True)))

    @property
    def lowest(self) -> Float[Tensor, " d"]:
        """The point with the least value."""
        return self.points[self.values.nan_to_num(torch.inf).argmin()]


def look(f: Objective, x: Float[Tensor, " d"]) -> Seen:
    """A function and its gradient at a point.

    >>> look(lambda x: (x**2).sum(), torch.tensor([3.0, 1.0])).gradient
    tensor([6., 2.])
    """
    at = x.detach().requires_grad_()
    value = f(at)
    if value.ndim:
        raise GradlabError(f"The function must give one number, got shape {tuple(value.shape)}. Sum or average it.")
    (gradient,) = torch.autograd.grad(value, at, allow_unused=True)
    return Seen(x.detach(), value.detach(), torch.zeros_like(at.detach()) if gradient is None else gradient)


def start_of(x0: object) -> Float[Tensor, " d"]:
    """The vector that a run begins at."""
    x = tensor(x0).detach()
    if x.ndim != 1:
        raise GradlabError(f"A minimiser starts from a vector, got shape {tuple(x.shape)}.")
    return x
