"""Tensors in what modules take and give, and a few of many values."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def first_tensor(given: Any, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor | None:
    """The first tensor in what a module took or gave."""
    if isinstance(given, Tensor):
        return given if fits(given) else None
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, (tuple, list)):
        return None
    return next((first for item in given if (first := first_tensor(item, fits)) is not None), None)


def tensors_in(given: Any) -> list[Tensor]:
    """All tensors in what a module gave."""
    if isinstance(given, Tensor):
        return [given]
    items = given.values() if isinstance(given, dict) else given if isinstance(given, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def is_leaf(given: Any) -> bool:
    """Whether it is a leaf that wants a gradient."""
    return isinstance(given, Tensor) and given.requires_grad and given.is_leaf


def some(values: Tensor, most: int = 65_536) -> Tensor:
    """A few of many, which tell as much as all: at equal distances, an odd number apart, so that they fall on all
    columns of a picture."""
    flat = values.reshape(-1)
    every = flat.numel() // most
    return flat if every < 2 else flat[:: every | 1]
