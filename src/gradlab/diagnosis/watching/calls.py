"""Calls of modules, seen through torch's global hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradlab.diagnosis.watching.held import Held

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch


class Calls:
    """Which modules run inside of which, and what they have made."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.stack: list[nn.Module] = []
        self.makers: dict[Any, str] = {}
        """Autograd's nodes at this look, and the modules whose outputs they are."""
        self.held = Held()
        self.judging = False
        """Whether the last root was called with gradients off, after the first step."""
        self.with_gradients = True
        """Whether they were on when the root was called; inside of it, a part may run without."""

    def before(self, module: nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if not self.stack:
            self.watch.called()
            self.with_gradients = torch.is_grad_enabled()
            self.judging = not self.with_gradients and self.watch.step > 0
            if module not in self.watch.roots.known:
                self.watch.safely(self.watch.roots.new, module)
        self.stack.append(module)

    def after(self, module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        if torch.compiler.is_compiling():
            return
        stack = self.stack
        while stack and stack.pop() is not module:  # those above it have raised
            pass
        watch = self.watch
        if not stack:
            watch.safely(watch.roots.ran, module, args, kwargs, output)
            watch.masks.next_call()
        elif watch.looking:
            watch.safely(watch.modules.ran, module, args, output)
            watch.safely(watch.masks.ran, module, args, kwargs)
