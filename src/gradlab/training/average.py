"""The exponential moving average of the weights, which a training with `ema` is judged by and ends with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from gradlab.training.optimizers import Parameters, blend


class Average:
    r"""Running means of the trainable parameters; buffers, such as those of batch normalisation, are no part of it.

    $$ \bar\theta \leftarrow d_t \bar\theta + (1 - d_t) \theta, \qquad d_t = \min(d, (1 + t) / (10 + t)) $$

    after update t. The smaller decay of the first updates forgets the initial weights: at d = 0.999 alone, a third of
    them would still be in the average after a thousand updates.
    """

    def __init__(self, parameters: Parameters, decay: float):
        self.names, self.decay = parameters.names, decay
        self.values = [p.detach() for p in parameters.tensors]
        self.means = [v.clone() for v in self.values]

    def update(self, updates: Tensor, skip: Tensor | None = None) -> None:
        """Take in the weights after an update, whose number is on the device; nothing where `skip` is 1."""
        kept = ((1 + updates) / (10 + updates)).clamp(max=self.decay)
        blend(self.means, self.values, 1 - kept, skip)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Meanwhile the model has the average for weights: in the same memory, which captured steps refer to."""
        own = [v.clone() for v in self.values]
        self.adopt()
        try:
            yield
        finally:
            torch._foreach_copy_(self.values, own)

    def adopt(self) -> None:
        """Leave the model with the average."""
        torch._foreach_copy_(self.values, self.means)

    def snapshot(self) -> dict[str, Any]:
        return {"average": dict(zip(self.names, self.means, strict=True))}

    def restore(self, snapshot: dict[str, Any]) -> None:
        for name, mean in zip(self.names, self.means, strict=True):
            mean.copy_(snapshot["average"][name])
