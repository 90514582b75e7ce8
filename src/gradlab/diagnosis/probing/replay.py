"""A captured step, run again on a copy."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.diagnosis.record import Capture
from gradlab.diagnosis.watching.judges import original


class Replay:
    """What the script did in one of its first steps: its model, its batch, and its loss if it was one of torch's."""

    def __init__(self, capture: Capture):
        self.capture = capture
        tensors = [a for a in (*capture.args, *capture.kwargs.values()) if isinstance(a, Tensor)]
        self.rows = len(tensors[0]) if tensors and tensors[0].ndim else 0

    @property
    def has_loss(self) -> bool:
        return self.capture.kind is not None and self.capture.view is not None

    def model(self, training: bool = True) -> nn.Module:
        model = copy.deepcopy(self.capture.model).train(training)
        # Batch norm in training mode would answer by the batch; what is probed elsewhere is the model.
        return model.requires_grad_(True) if training else model

    def output(self, model: nn.Module, args: tuple[Any, ...] | None = None) -> Any:
        return model(*(self.capture.args if args is None else args), **self.capture.kwargs)

    def loss(self, model: nn.Module, args: tuple[Any, ...] | None = None) -> Tensor:
        """The loss as the script made it of the model's output."""
        capture = self.capture
        output = self.output(model, args)
        tensor = output if capture.place is None else output[capture.place]
        assert capture.view is not None
        assert capture.kind is not None
        shape, stride, offset = capture.view
        seen = tensor.as_strided(shape, stride, tensor.storage_offset() + offset)
        loss: Tensor = original(capture.kind)(seen, capture.target, **capture.options)
        return loss if loss.ndim == 0 else loss.mean()

    def sound(self) -> bool:
        """Whether running it again gives the loss that was seen, as far as its dropout allows."""
        if not self.has_loss:
            return False
        with torch.no_grad():
            again = float(self.loss(self.model()))
        seen = self.capture.loss
        return abs(again - seen) <= 0.3 * abs(seen) + 1e-6
