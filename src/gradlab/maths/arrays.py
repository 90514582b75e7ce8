"""Functions of tensors that take NumPy arrays and plain numbers too, and then answer with the same."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def tensor(x: Any) -> Tensor:
    """As a tensor of floating point: float64, unless it was one of another type.

    >>> tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    if isinstance(x, Tensor) and x.is_floating_point():
        return x
    return torch.as_tensor(x, dtype=torch.float64)


def takes_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """Called with NumPy arrays and no tensor, it answers with arrays; its body sees tensors in float64.

    >>> takes_arrays(lambda x: 2 * x)(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        values = (*args, *kwargs.values())
        if any(isinstance(x, Tensor) for x in values) or not any(isinstance(x, np.ndarray) for x in values):
            return function(*args, **kwargs)
        return _arrays(function(*map(_tensors, args), **{name: _tensors(x) for name, x in kwargs.items()}))  # type: ignore

    return call


def _tensors(x: Any) -> Any:
    return torch.from_numpy(x).double() if isinstance(x, np.ndarray) and x.dtype.kind in "iuf" else x


def _arrays(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.detach().numpy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_arrays, x))
    return type(x)(map(_arrays, x)) if isinstance(x, tuple | list) else x
