"""Modules that are exactly of a class that is known, so that something faster may stand for their calls.

A block may have a method `bare` that gives its function. It stands for the block only where nothing could tell the two
apart: what is not exactly a class that is known, or has a hook in it, is called as it is.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import unwrap
from types import MethodType
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


# Modules of torch.nn whose work on a device depends on the values that they see, or on a state of the host.
_DATA_DEPENDENT = {"AdaptiveLogSoftmaxWithLoss", "CTCLoss", "EmbeddingBag"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_DEPTH = 8  # of functions that are made of functions


def find_hook(model: nn.Module) -> str:
    """The part of a model whose calls somebody listens to; "" if nobody does."""
    parts = ((name, part) for name, part in model.named_modules() if any(getattr(part, kind) for kind in _HOOKS))
    heard = next((name or type(part).__name__ for name, part in parts), "")
    return heard or ("all modules" if torch_modules._has_any_global_hook() else "")  # type: ignore[no-untyped-call]


def is_replayable(model: nn.Module) -> bool:
    """Whether a model is known to do the same work on a device at every call: ours and torch's, with no hooks."""
    return not find_hook(model) and all(map(_is_standard, model.modules()))


def _is_standard(module: nn.Module) -> bool:
    kind = type(module)
    standard = kind.__module__.startswith("torch.nn.modules.") and kind.__name__ not in _DATA_DEPENDENT
    counts = isinstance(module, nn.modules.batchnorm._NormBase) and module.momentum is None
    renormalizes = isinstance(module, nn.Embedding) and module.max_norm is not None
    lazy = isinstance(module, nn.modules.lazy.LazyModuleMixin)
    if counts or renormalizes or lazy or "forward" in vars(module):
        return False
    return (standard or is_ours(kind)) and not _first_foreign(vars(module).values(), 0)


def is_ours(kind: type) -> bool:
    """Whether a class is part of this package."""
    return kind.__module__.partition(".")[0] == "gradlab"


def foreign_function(value: Any, depth: int = 0) -> str:
    """The name of a function that is neither ours nor of torch, or that is made of one; "" for anything else."""
    if isinstance(value, partial):
        return _first_foreign((value.func, *value.args, *value.keywords.values()), depth)
    if isinstance(value, nn.Module):
        return "" if is_replayable(value) else type(value).__name__
    if not callable(value) or isinstance(value, type):
        return ""
    owner = getattr(value, "__self__", None)
    if isinstance(value, MethodType) and is_ours(type(owner)):
        held = (part for name, part in vars(owner).items() if name != "batch_metrics")  # which no step computes
        return _first_foreign(held, depth)
    kind = type(owner) if isinstance(value, MethodType) else value
    module = getattr(kind, "__module__", None) or type(value).__module__
    known = module.partition(".")[0] in ("gradlab", "torch", "builtins")
    return "" if known else getattr(kind, "__name__", type(value).__name__)


def _first_foreign(values: Iterable[Any], depth: int) -> str:
    """Of what a function is made of, or a task keeps: functions alone, in objectives, or by their names."""
    if depth > _DEPTH:
        return "a function of functions"
    for value in values:
        parts = value.values() if isinstance(value, Mapping) else (getattr(value, "loss", value),)
        if name := next(filter(None, (foreign_function(part, depth + 1) for part in parts)), ""):
            return name
    return ""


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
