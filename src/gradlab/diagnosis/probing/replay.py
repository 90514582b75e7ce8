"""A captured step, run again on a copy."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.diagnosis.record import Capture
from gradlab.diagnosis.watching.judges import original
from gradlab.diagnosis.watching.tensors import mapped, tensors_in


class Replay:
    """What the script did in one of its first steps: its model, its batch, and its loss if that can be made again.

    It can if it was one of torch's; if `deep`, also if the model itself gives it.
    """

    def __init__(self, capture: Capture, deep: bool = False):
        self.capture, self.deep = capture, deep
        first = next((t for t in tensors_in([capture.args, capture.kwargs]) if t.ndim), None)
        self.rows = 0 if first is None else len(first)

    @property
    def has_loss(self) -> bool:
        return self._by_function or (self.deep and self._own is not None)

    @property
    def _by_function(self) -> bool:
        return self.capture.kind is not None and self.capture.view is not None

    @cached_property
    def _own(self) -> int | None:
        """Which of its outputs is the loss."""
        seen = self.capture.loss
        with torch.no_grad():
            seeded()
            outputs = tensors_in(self.output(self.as_trained()))
        fits = (i for i in self.capture.connected if i < len(outputs) and outputs[i].numel() == 1)
        return next((i for i in fits if abs(float(outputs[i]) - seen) <= 0.3 * abs(seen) + 1e-6), None)

    # -- models -------------------------------------------------------------------------------------------------------

    def model(self, training: bool = True) -> nn.Module:
        model = copy.deepcopy(self.capture.model).train(training)
        # Batch norm in training mode would answer by the batch; what is probed elsewhere is the model.
        return model.requires_grad_(True) if training else model

    def as_trained(self) -> nn.Module:
        """With the first weights, in the modes and with the frozen parts that the script gave it."""
        return copy.deepcopy(self.capture.model)

    def ended(self) -> nn.Module | None:
        """The same with the weights of the end; None if they are gone, or not finite."""
        module = self.capture.root.module
        if module is None:
            return None
        state = getattr(module, "_orig_mod", module).state_dict()
        if any(isinstance(t, Tensor) and not bool(torch.isfinite(t).all()) for t in state.values()):
            return None
        model = self.as_trained()
        model.load_state_dict(state)
        return model

    # -- runs ---------------------------------------------------------------------------------------------------------

    def output(
        self, model: nn.Module, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None
    ) -> Any:
        capture = self.capture
        inputs = (capture.args if args is None else args), (capture.kwargs if kwargs is None else kwargs)
        return model(*inputs[0], **inputs[1])

    def rearranged(self, pick: Callable[[Tensor], Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with every tensor in them replaced."""
        args, kwargs = mapped(self.capture.args, pick), mapped(self.capture.kwargs, pick)
        return args, kwargs

    def loss(self, model: nn.Module, args: tuple[Any, ...] | None = None) -> Tensor:
        """The loss as the script made it of the model's output."""
        if not self._by_function:
            assert self._own is not None
            return tensors_in(self.output(model, args))[self._own].reshape(())
        return self.judged(self.predicted(model, args))

    def predicted(self, model: nn.Module, args: tuple[Any, ...] | None = None) -> Tensor:
        """What the loss function was given."""
        capture = self.capture
        output = self.output(model, args)
        tensor = output if capture.place is None else output[capture.place]
        assert capture.view is not None
        shape, stride, offset = capture.view
        seen: Tensor = tensor.as_strided(shape, stride, tensor.storage_offset() + offset)
        return seen

    def judged(self, predicted: Tensor, **others: Any) -> Tensor:
        """The script's loss function, of something that might have been predicted."""
        capture = self.capture
        assert capture.kind is not None
        loss: Tensor = original(capture.kind)(predicted, capture.target, **(capture.options | others))
        return loss if loss.ndim == 0 else loss.mean()

    def sound(self) -> bool:
        """Whether running it again gives the loss that was seen, as far as its dropout allows."""
        if not self.has_loss:
            return False
        with torch.no_grad():
            again = float(self.loss(self.model()))
        seen = self.capture.loss
        return abs(again - seen) <= 0.3 * abs(seen) + 1e-6


def seeded(seed: int = 0) -> None:
    """Begin all random numbers anew, so that two runs draw the same."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def first(output: Any) -> Tensor | None:
    """Of what a model gave: its logits, where it has something of that name, or its first tensor."""
    if isinstance(output, dict) and isinstance(output.get("logits"), Tensor):
        return output["logits"]  # type: ignore[no-any-return]
    named = getattr(output, "logits", None)
    return named if isinstance(named, Tensor) else next(answers(output), None)


def answers(output: Any) -> Iterator[Tensor]:
    """All tensors in what a model gave, also where that is a dataclass."""
    if isinstance(output, Tensor):
        yield output
        return
    items: Any = output if isinstance(output, (tuple, list)) else ()
    if isinstance(output, dict):
        items = output.values()
    elif is_dataclass(output) and not isinstance(output, type):
        items = vars(output).values()
    for item in items:
        yield from answers(item)
