"""Tensors in what modules take and give, and a few of many values."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy


def first_tensor(value: Any, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor | None:
    """The first tensor in what a module took or gave."""
    if isinstance(value, Tensor):
        return value if fits(value) else None
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return None
    return next((first for item in value if (first := first_tensor(item, fits)) is not None), None)


def dense(tensor: Tensor) -> bool:
    """Whether its numbers lie in memory as those of most tensors do."""
    return tensor.layout == torch.strided and not tensor.is_nested


def is_measurable(tensor: Tensor) -> bool:
    """Whether a tensor has numbers to compute with: not one of a lazy module that waits for its shape, nor a shape."""
    return not is_lazy(tensor) and not tensor.is_meta and dense(tensor)


def tensors_in(value: Any) -> list[Tensor]:
    """All tensors in what a module gave."""
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def mapped(value: Any, function: Callable[[Tensor], Any]) -> Any:
    """The same nesting with a function applied to each tensor."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(item, function) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(mapped(item, function) for item in value)
    return value


def is_leaf(value: Any) -> bool:
    """Whether it is a leaf that wants a gradient."""
    return isinstance(value, Tensor) and value.requires_grad and value.is_leaf


def some(values: Tensor, most: int = 65_536) -> Tensor:
    """A few of many, which tell as much as all: at equal distances, an odd number apart, so that they fall on all
    columns of a picture."""
    flat = values.reshape(-1)
    every = flat.numel() // most
    return flat if every < 2 else flat[:: every | 1]
