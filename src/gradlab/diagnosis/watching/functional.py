"""Trainings with torch.func: gradients of a function of the parameters, and no graph that anybody could read."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from gradlab.diagnosis.watching.chance import unrolled

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_MOST = 2_000_000  # numbers


class Functional:
    """Calls of `grad(f)` and `grad_and_value(f)`. At a look the function is called once more on copies of the
    parameters, with autograd on: that leaves the graph of any other training. Such functions are pure."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._copies: dict[Any, list[Tensor]] = {}
        self._busy = False

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def transform(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
            inner = function(func, argnums, has_aux)
            alone = function.__name__ == "grad" and not has_aux

            @functools.wraps(inner)
            def call(*args: Any, **kwargs: Any) -> Any:
                copies = self._see(func, argnums, has_aux, args, kwargs) if self._ours(argnums, args) else []
                result = inner(*args, **kwargs)
                if copies:
                    gradients = pytree.tree_leaves(result if alone else result[0])
                    self.watch.safely(self.watch.updates.given, tuple(copies), gradients)
                return result

            return call

        return transform

    def _ours(self, argnums: Any, args: tuple[Any, ...]) -> bool:
        """Whether it is a training: of several parameters together, which no optimiser has, inside of nothing else."""
        outside = torch._C._functorch.maybe_current_level() is None and not torch.compiler.is_compiling()
        alone = outside and not self._busy and not self.watch.depth and not self.watch.updates.all
        return alone and isinstance(argnums, int) and argnums < len(args) and not isinstance(args[argnums], Tensor)

    def _see(
        self, func: Callable[..., Any], argnums: int, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Tensor]:
        """Count the updates since the last call, and look. Gives the copies whose gradients are wanted."""
        parameters, form = pytree.tree_flatten(args[argnums])
        if len(parameters) < 2 or not all(isinstance(p, Tensor) and p.is_floating_point() for p in parameters):
            return []
        if sum(p.numel() for p in parameters) > _MOST:
            return []
        copies = self._copies.setdefault((form, tuple(p.shape for p in parameters)), [])
        if not copies:
            copies += [p.detach().clone().requires_grad_() for p in parameters]
        with torch.no_grad():
            for copy, parameter in zip(copies, parameters, strict=True):
                copy.copy_(parameter)
        self.watch.safely(self.watch.updated_by_hand)
        if not self.watch.looking:
            return []
        rebuilt = (*args[:argnums], pytree.tree_unflatten(copies, form), *args[argnums + 1 :])
        self._busy = True
        try:
            with unrolled(), contextlib.redirect_stdout(io.StringIO()), torch.enable_grad():
                result = func(*rebuilt, **kwargs)
        except Exception:  # the user's own call will raise it
            return []
        finally:
            self._busy = False
        loss = result[0] if has_aux else result
        if not isinstance(loss, Tensor) or loss.grad_fn is None or loss.numel() != 1:
            return []
        self.watch.safely(self.watch.backwards.before, loss, False)
        return copies
