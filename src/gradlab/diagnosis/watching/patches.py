"""What is put into torch while a watch is open, and taken out afterwards."""

from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as modules
from torch.optim import optimizer as optimizers
from torch.utils.data import dataloader

from gradlab.diagnosis.watching.loss_calls import LOSSES
from gradlab.diagnosis.watching.warned import past_our_frames

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch


_ABOUT_OUR_HOOKS = "Using `torch.compile(module)` when there are global hooks"


class Patches:
    """Hooks where torch has global ones; elsewhere a function is replaced by one that calls it."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._undo: list[Callable[[], Any]] = []

    def put_in(self) -> None:
        watch, keep = self.watch, self._undo
        keep.append(modules.register_module_forward_pre_hook(watch.calls.before).remove)
        after = modules.register_module_forward_hook(watch.calls.after, with_kwargs=True)
        keep.append(after.remove)
        # What torch notes of a hook with keyword arguments stays there when the hook goes.
        keep.append(lambda: getattr(modules, "_global_forward_hooks_with_kwargs", {}).pop(after.id, None))
        keep.append(modules.register_module_parameter_registration_hook(watch.parameters.registered).remove)
        keep.append(optimizers.register_optimizer_step_pre_hook(self._before_step).remove)
        keep.append(optimizers.register_optimizer_step_post_hook(self._after_step).remove)
        self._replace(torch.Tensor, "backward", self._backward)
        self._replace(torch.Tensor, "item", self._item)
        self._replace(torch.autograd, "backward", self._autograd_backward)
        self._replace(torch.autograd, "grad", self._autograd_grad)
        for name in ("grad", "grad_and_value"):
            self._replace(torch.func, name, watch.functional.wrapped)
        self._replace(optimizers.Optimizer, "__init__", self._optimizer)
        for name in LOSSES:
            self._replace(F, name, functools.partial(watch.loss_calls.wrapped, name))
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"):
            self._replace(F, name, self._dropout)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            for place in (nn.utils, nn.utils.clip_grad):
                self._replace(place, name, self._clip)
        for owner in (torch, torch.Tensor):
            for name in ("multinomial", "argmax"):
                self._replace(owner, name, watch.reinforced.policies.choosing)
        self._replace(nn.Module, "train", self._mode)
        self._replace(nn.Module, "load_state_dict", self._load)
        for kind in (nn.Embedding, nn.EmbeddingBag):
            self._replace(kind, "from_pretrained", self._pretrained)
        self._replace(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._saved_hooks)
        self._replace(torch.amp.GradScaler, "scale", self._scale)
        self._replace(dataloader._BaseDataLoaderIter, "__next__", self._next)
        self._replace(warnings, "warn", past_our_frames)
        shown = warnings.showwarning
        warnings.showwarning = functools.partial(self._warned, shown)
        keep.append(lambda: setattr(warnings, "showwarning", shown))

    def take_out(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        own = owner.__dict__.get(name)
        setattr(owner, name, around(own or getattr(owner, name)))
        self._undo.append(lambda: setattr(owner, name, own) if own else delattr(owner, name))

    # -- around functions ------------------------------------------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not torch.compiler.is_compiling():
            self.watch.safely(self.watch.updates.before, optimizer, args, kwargs)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not torch.compiler.is_compiling():
            self.watch.safely(self.watch.updates.after, optimizer, args, kwargs)
            self.watch.safely(self.watch.stepped, optimizer)
            self.watch.stop_if_enough()

    def _backward(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def backward(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            watch.safely(watch.backward_begins, tensor)
            watch.inside += 1
            try:
                result = function(tensor, *args, **kwargs)
            finally:
                watch.inside -= 1
            watch.safely(watch.backwards.after, tensor)
            return result

        return backward

    def _autograd_backward(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if watch.inside:  # called by Tensor.backward
                return function(tensors, *args, **kwargs)
            first = tensors if isinstance(tensors, Tensor) else tensors[0]
            watch.safely(watch.backward_begins, first)
            result = function(tensors, *args, **kwargs)
            watch.safely(watch.backwards.after, first)
            return result

        return backward

    def _autograd_grad(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            loss = outputs if isinstance(outputs, Tensor) else outputs[0] if len(outputs) == 1 else None
            leaves = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
            watch.safely(watch.parameters.asked, [t for t in leaves if isinstance(t, Tensor) and t.is_leaf])
            # Gradients of a loss for an update by hand; others (penalties, physics, saliency) are parts of a loss.
            final = (
                loss is not None
                and loss.numel() == 1
                and not kwargs.get("create_graph")
                and len(leaves) > 1
                and all(isinstance(leaf, Tensor) and leaf.is_leaf for leaf in leaves)
            )
            if final:
                watch.safely(watch.backward_begins, loss, False)
            watch.inside += 1
            try:
                result = function(outputs, inputs, *args, **kwargs)
            finally:
                watch.inside -= 1
            if final:
                watch.safely(watch.backwards.after, loss)
                watch.safely(watch.updates.given, leaves, result)
            return result

        return grad

    def _item(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def item(tensor: Tensor) -> Any:
            value = function(tensor)
            if watch.calls.judging and not torch.compiler.is_compiling():
                watch.safely(watch.read, sys._getframe(1), value)
            elif watch.looking and tensor.requires_grad and not torch.compiler.is_compiling():
                watch.safely(watch.taken, tensor)
            return value

        return item

    def _optimizer(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            function(optimizer, *args, **kwargs)
            watch.safely(watch.updates.made, optimizer)

        return __init__

    def _clip(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def clip(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
            watch.safely(watch.updates.clipped, limit, result, "value" in function.__name__)
            return result

        return clip

    def _dropout(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def dropout(*args: Any, **kwargs: Any) -> Any:
            if (watch.looking or not torch.is_grad_enabled()) and not torch.compiler.is_compiling():
                p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
                training = args[2] if len(args) > 2 else kwargs.get("training", True)
                watch.safely(watch.modules.dropped, p, training)
            return function(*args, **kwargs)

        return dropout

    def _mode(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def train(module: Any, mode: bool = True) -> Any:
            if module in watch.roots.known:
                watch.safely(watch.roots.switched, module, mode)
            return function(module, mode)

        return train

    def _load(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = function(module, *args, **kwargs)
            watch.safely(watch.loaded, module)
            return result

        return load_state_dict

    def _pretrained(self, function: Any) -> Any:
        watch, inner = self.watch, function.__func__

        @functools.wraps(inner)
        def from_pretrained(kind: Any, *args: Any, **kwargs: Any) -> Any:
            model = inner(kind, *args, **kwargs)
            watch.safely(watch.loaded, model)
            return model

        return classmethod(from_pretrained)

    def _saved_hooks(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def __enter__(hooks: Any) -> Any:
            watch.saved_hooks = True
            return function(hooks)

        return __enter__

    def _scale(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def scale(scaler: Any, outputs: Any) -> Any:
            watch.record.scaler = watch.record.scaler or scaler.is_enabled()
            return function(scaler, outputs)

        return scale

    def _next(self, function: Any) -> Any:
        watch = self.watch

        @functools.wraps(function)
        def __next__(iterator: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(iterator)
            finally:
                watch.loading(time.perf_counter() - began)
                watch.safely(watch.drawn, iterator)

        return __next__

    def _warned(
        self, shown: Any, message: Any, category: Any, filename: str, lineno: int, *rest: Any, **more: Any
    ) -> None:
        if not str(message).startswith(_ABOUT_OUR_HOOKS):
            shown(message, category, filename, lineno, *rest, **more)
