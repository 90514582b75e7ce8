"""Modules inside of roots: in which mode they run, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from gradlab.diagnosis.record import Module
from gradlab.diagnosis.watching.known import Known
from gradlab.diagnosis.watching.tensors import first_tensor, some

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch


class Modules:
    """All that runs inside of a root, by the path under which the root has it."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.paths: Known[str] = Known()
        self.modes: dict[str, bool] = {}
        """Of those that have run since the last backward pass."""

    def ran(self, module: nn.Module, args: Any, output: Any) -> None:
        """A module at a look."""
        path = self.paths.get(module)
        if path is None:
            path = self._stray(module)
        first = first_tensor(output)
        if first is not None and first.is_meta:
            return
        record = self.watch.record
        seen = record.modules.get(path)
        if seen is None:
            seen = record.modules[path] = self._new(path, module)
        self.watch.parameters.used(module, self.watch.calls.with_gradients)
        if not self.watch.calls.with_gradients:
            seen.evaluated += 1
            seen.evaluated_in_train += module.training
            return
        self.modes[path] = module.training
        if first is None:
            return
        if first.grad_fn is not None:
            self.watch.calls.makers.setdefault(first.grad_fn, path)
            if torch.is_grad_enabled() and first.layout == torch.strided:
                self.watch.calls.held.made(first)
        if not seen.leaf or not first.is_floating_point() or first.numel() < 2:  # one number has no spread
            return
        std, mean = torch.std_mean(some(first.detach()), correction=0)
        seen.mean.add(self.watch.step, float(mean))
        seen.std.add(self.watch.step, float(std))
        if isinstance(module, _BatchNorm) and module.training:
            seen.per_channel.add(self.watch.step, first.numel() / max(1, first.shape[1] if first.ndim > 1 else 1))

    def dropped(self, p: float, training: bool) -> None:
        """Dropout as a function, called by the user's code and not by a module of torch that stands for it."""
        inner = self.watch.calls.stack[-1] if self.watch.calls.stack else None
        if inner is None or isinstance(inner, _DropoutNd) or type(inner).__module__.startswith("torch."):
            return
        owner = self.paths.get(inner) or type(inner).__name__
        path = f"{owner} (F.dropout)"
        modules = self.watch.record.modules
        if path not in modules:
            modules[path] = Module(path=path, kind="Dropout", root=owner.split(".")[0], settings={"p": float(p)})
        if self.watch.calls.with_gradients:
            self.modes[path] = training
        else:
            modules[path].evaluated += 1
            modules[path].evaluated_in_train += training

    def _stray(self, module: nn.Module) -> str:
        """A module that runs inside a root which does not know it, or one without parameters that the user calls."""
        outer = self.watch.calls.stack[0] if self.watch.calls.stack else None
        root = self.watch.roots.known.get(outer) if outer is not None else None
        name = None
        for holder in reversed(self.watch.calls.stack):
            name = _attribute(holder, module)
            if name:
                above = self.paths.get(holder) or type(holder).__name__
                path = f"{above}.{name}"
                break
        else:
            path = f"{root.name if root else type(outer).__name__ if outer is not None else ''}.{type(module).__name__}"
        while path in self.watch.record.modules:
            path += "'"
        self.paths[module] = path
        inside = outer is not None and any(part is module for part in outer.modules())
        if not inside:
            self.watch.parameters.enter(path, module, registered=False)
        seen = self.watch.record.modules[path] = self._new(path, module)
        seen.registered = inside
        return path

    def _new(self, path: str, module: nn.Module) -> Module:
        simple = {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("_") and isinstance(value, (int, float, str, bool)) and name != "training"
        }
        return Module(
            path=path,
            kind=type(module).__name__,
            root=path.split(".")[0],
            leaf=not any(module.children()),
            settings=simple,
        )

    def trained(self) -> None:
        """A backward pass ends the calls so far."""
        if self.watch.looking:
            for path, training in self.modes.items():
                seen = self.watch.record.modules[path]
                seen.trained += 1
                seen.trained_in_eval += not training
        self.modes = {}


def _attribute(holder: nn.Module, module: nn.Module) -> str | None:
    """Under which attribute a module holds another without having registered it."""
    for name, value in vars(holder).items():
        if value is module:
            return name
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                if item is module:
                    return f"{name}[{i}]"
        elif isinstance(value, dict) and not name.startswith("_"):
            for key, item in value.items():
                if item is module:
                    return f"{name}[{key!r}]"
    return None
