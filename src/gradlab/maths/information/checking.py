"""Probabilities as they are given, refused where they are none."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

_SUM = 1e-6  # how far a sum may be from 1, as sums of probabilities typed with six digits are


def distribution(p: Any, name: str = "p", axes: int = 1) -> Float[Tensor, "*batch outcomes"]:
    """As a tensor whose entries are at least 0 and sum to 1 along the last axis, or the last `axes` of them.

    >>> distribution([0.5, 0.25, 0.2])
    Traceback (most recent call last):
        ...
    gradlab.errors.GradlabError: p: probabilities must sum to 1, and these sum to 0.95. Divide them by their sum.
    """
    values = tensor(p)
    if values.ndim < axes or not values.numel():
        raise GradlabError(
            f"{name}: a distribution has at least one outcome along each axis, got {tuple(values.shape)}."
        )
    if bool((wrong := ~(values.detach() >= 0)).any()):
        place = wrong.nonzero()[0].tolist()
        raise GradlabError(
            f"{name}{place} is {values[tuple(place)].item():g}: a probability is a number of at least 0."
        )
    sums = values.detach().sum(tuple(range(-axes, 0)))
    allowed = max(_SUM, 100 * torch.finfo(values.dtype).eps)
    if bool((wrong := ~((sums - 1).abs() <= allowed)).any()):
        row = wrong.nonzero()[0].tolist()
        those = f"those of {name}{row}" if row else "these"
        raise GradlabError(
            f"{name}: probabilities must sum to 1, and {those} sum to {sums[tuple(row)].item():.6g}. "
            "Divide them by their sum."
        )
    return values


def same_outcomes(p: Tensor, q: Tensor) -> None:
    """Refuse two distributions over different numbers of outcomes."""
    if p.shape[-1] != q.shape[-1]:
        raise GradlabError(
            f"p is over {p.shape[-1]} outcomes and q over {q.shape[-1]}: both must name the same ones, "
            "with a probability of 0 for what is impossible."
        )
