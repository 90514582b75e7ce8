"""Functions of torch that are replaced only while something is to be learnt from their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__")
READING = ("item", "tolist", "numpy", "__int__", "__index__", "__array__")


class Operators:
    """Methods of tensors that also tell what they are called on, from `put_in` to `take_out`."""

    def __init__(self, watch: Watch, names: tuple[str, ...], tell: Callable[..., None]):
        self.watch, self.names, self.tell = watch, names, tell
        self._undo: list[Callable[[], None]] = []

    def put_in(self) -> None:
        for name in () if self._undo else self.names:
            own = torch.Tensor.__dict__.get(name)
            setattr(torch.Tensor, name, self._around(own or getattr(torch.Tensor, name)))
            self._undo.append(functools.partial(_restore, name, own))

    def take_out(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _around(self, function: Any) -> Any:
        watch, tell = self.watch, self.tell

        @functools.wraps(function)
        def operator(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if watch.looking and watch.depth == 0 and type(args[0]) is Tensor and not torch.compiler.is_compiling():
                watch.safely(tell, *args[:2])
            return result

        return operator


def _restore(name: str, own: Any) -> None:
    if own is None:
        delattr(torch.Tensor, name)
    else:
        setattr(torch.Tensor, name, own)
