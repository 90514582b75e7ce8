"""Masks of padding that attention is given, beside what stands in the places that they hide and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gradlab.diagnosis.watching.tensors import first_tensor

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_MOST = 16  # inputs of a call: words and features come first, and what is deeper is mixed already


class Masks:
    """Whether `key_padding_mask` leaves padding to be seen and hides everything else."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.given: list[Tensor] = []
        """What parts without parts of their own were given in this call of a root."""

    def ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.watch.calls.with_gradients:
            return
        if isinstance(module, nn.MultiheadAttention):
            mask = args[3] if len(args) > 3 else kwargs.get("key_padding_mask")
            seen = self.watch.record.modules.get(self.watch.modules.paths.get(module) or "")
            if seen is not None and isinstance(mask, Tensor) and mask.ndim == 2:
                hidden = mask if mask.dtype == torch.bool else mask < -1e4
                seen.padded += 1
                seen.padding_only += any(_only_padding(hidden, inputs) for inputs in self.given)
                seen.hidden = float(hidden.float().mean())
        elif len(self.given) < _MOST and next(module.children(), None) is None:
            inputs = first_tensor(args)
            if inputs is not None and inputs.ndim >= 2:
                self.given.append(inputs.detach())

    def next_call(self) -> None:
        self.given.clear()


def _only_padding(hidden: Tensor, inputs: Tensor) -> bool:
    """Whether all places that are left hold the same, in runs of several lengths at one end of the rows, and those that
    are hidden hold different things, and never that."""
    if inputs.shape[:2] != hidden.shape:
        inputs = inputs.transpose(0, 1)
    if inputs.shape[:2] != hidden.shape or bool(hidden.all()) or not bool(hidden.any()):
        return False
    rows = inputs.reshape(*hidden.shape, -1)
    left, others = rows[~hidden], rows[hidden]
    if not bool((left == left[0]).all()) or bool((others == left[0]).all(1).any()) or bool((others == others[0]).all()):
        return False
    return any(_runs(side) for side in (~hidden, ~hidden.flip(1)))


def _runs(left: Tensor) -> bool:
    """Whether the places that are left begin each row, and are more in some rows than in others."""
    lengths = left.long().cumprod(1).sum(1)
    return bool((lengths == left.sum(1)).all()) and len(torch.unique(lengths)) > 1
