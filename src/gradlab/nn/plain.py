"""Modules without what calling them costs: for one token that is more than what they compute.

A block may have a method `bare` that gives its function. It stands for the block only where nothing could tell the two
apart: what is not exactly a class that is known, or has a hook in it, is called as it is.
"""

from collections.abc import Callable
from functools import partial
from inspect import unwrap
from typing import Any, TypeAlias

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

Map: TypeAlias = Callable[[Tensor], Tensor]

_known: dict[type, Any] = {kind: kind.forward for kind in (nn.Linear, nn.Embedding, nn.Dropout, nn.Identity)}


def know(kind: type[nn.Module]) -> None:
    """Remember what a class of ours computes, before anybody can put something else in its place."""
    if kind.__module__.startswith("gradlab."):
        _known[kind] = kind.forward


def is_plain(module: nn.Module) -> bool:
    """Whether a module computes what its class is known to: nothing in it is of another class, hooked or replaced."""
    return all(is_itself(part, _known.get(type(part))) for part in module.modules())


def is_itself(module: nn.Module, forward: Any) -> bool:
    """Whether to call a module is to call this function of its class, and nothing else."""
    same = forward is not None and getattr(module.forward, "__func__", None) is forward
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    return same and not any(hooks) and not torch_modules._has_any_global_hook()  # type: ignore[no-untyped-call]


def bare(module: nn.Module) -> Callable[..., Tensor]:
    """The function of a plain module, in evaluation mode; of others, the module."""
    if not is_plain(module):
        return module
    if type(module) is nn.Linear:
        return linear(module.weight, module.bias)
    if hasattr(module, "bare"):
        return module.bare()  # type: ignore[no-any-return, operator]
    return partial(unwrap(type(module).forward), module)  # before its shapes are checked


def linear(weight: Tensor, bias: Tensor | None) -> Map:
    """W x + b"""
    return lambda x: F.linear(x, weight, bias)
