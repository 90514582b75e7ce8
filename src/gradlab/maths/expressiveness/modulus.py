"""Uniform continuity on an interval: how much a function varies over a distance, and which distance is small enough."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from gradlab.errors import GradlabError

Function: TypeAlias = Callable[[Tensor], Tensor]
_POINTS = 2**14 + 1
_FINEST = 2**-12  # of the interval: below, no distance is told apart from a jump


def spread_evenly(low: float, high: float, count: int) -> Tensor:
    """So many points from low to high, in float64."""
    if not low < high:
        raise GradlabError(f"The interval must have low < high, got {low} and {high}.")
    return torch.linspace(low, high, count, dtype=torch.float64)


def modulus_of_continuity(f: Function, low: float, high: float, distance: float) -> float:
    r"""How much a function varies at most between points of [low, high] that are no further apart than a distance.

    $$ \omega_f(\delta) = \sup_{|x - y| \le \delta} |f(x) - f(y)| $$

    It is looked for on 16,385 points.

    >>> round(modulus_of_continuity(torch.sqrt, 0.0, 1.0, 0.25), 3)  # from 0 to 0.25
    0.5
    """
    y = f(spread_evenly(low, high, _POINTS)).detach()[None, None]
    window = min(_POINTS, int(distance / (high - low) * (_POINTS - 1) * (1 + 1e-9)) + 1)
    if window < 2:
        raise GradlabError(f"distance={distance:g} is less than that of the points which are looked at.")
    largest, least = (sign * torch.max_pool1d(sign * y, window, 1) for sign in (1, -1))
    return float((largest - least).max())


def uniform_distance(f: Function, low: float, high: float, error: float) -> float:
    r"""A distance that is small enough everywhere in [low, high]: one δ for all x, as Heine and Cantor say there is.

    $$ |x - y| \le \delta \;\Rightarrow\; |f(x) - f(y)| \le \varepsilon $$

    It is the interval, halved until that holds. A function with a jump has none.

    >>> uniform_distance(torch.sqrt, 0.0, 1.0, 0.25)  # at 1 alone, 0.4 would do
    0.0625
    """
    if not error > 0:
        raise GradlabError(f"error must be larger than 0, got {error}.")
    distance = high - low
    while modulus_of_continuity(f, low, high, distance) > error:
        distance /= 2
        if distance < _FINEST * (high - low):
            raise GradlabError(
                f"The function varies by more than {error:g} over distances of {2 * distance:.2g}: it has a jump, or "
                "is too steep. Take a larger error or a smaller interval."
            )
    return distance
