"""A case made real: its arrays, and its model with the same first weights for everybody."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from gradlab.bench.cases import Case
from gradlab.models import lenet, mlp

_CLASSES = 10
_SIDE = 28  # of an image of MNIST
_BLOCK = 4  # pixels of equal colour each way, so that convolutions find something too
_BLUR = 2.0


@dataclass(frozen=True)
class Work:
    """Arrays, not tensors: what every contestant's users have in hand."""

    case: Case
    inputs: npt.NDArray[np.float32]
    targets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, case: Case) -> "Work":
        inputs, targets = _digits() if case.data == "digits" else _prototypes(case.rows)
        if case.model == "lenet":
            inputs = inputs.reshape(-1, 1, _SIDE, _SIDE)
        return cls(case, inputs[: case.rows], targets[: case.rows])

    @property
    def warm_up(self) -> "Work":
        """A few batches of it: libraries import, allocate and start threads in their first training."""
        rows = min(self.case.rows, 4 * self.case.batch_size)
        return Work(replace(self.case, rows=rows, epochs=1), self.inputs[:rows], self.targets[:rows])

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        shape = self.inputs.shape[1:]
        return (
            lenet(shape, _CLASSES) if self.case.model == "lenet" else mlp(shape, _CLASSES, hidden=[*self.case.hidden])
        )

    def loss(self, logits: npt.NDArray[np.floating]) -> float:
        """Mean cross-entropy over the training data: how far the contestant got."""
        wide = logits.astype(np.float64)
        wide = wide - wide.max(axis=1, keepdims=True)
        own = wide[np.arange(len(wide)), self.targets]
        return float((np.log(np.exp(wide).sum(axis=1)) - own).mean())


def _digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.data))
    return (bunch.data[order] / 16).astype(np.float32), bunch.target[order].astype(np.int64)


def _prototypes(rows: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Ten coarse pictures, blurred into each other so much that the loss neither stays where it is nor vanishes."""
    rng = np.random.default_rng(0)
    coarse = _SIDE // _BLOCK
    prototypes = rng.standard_normal((_CLASSES, coarse, coarse), dtype=np.float32)
    targets = rng.integers(0, _CLASSES, rows)
    pictures = prototypes[targets] + _BLUR * rng.standard_normal((rows, coarse, coarse), dtype=np.float32)
    fine = np.kron(pictures, np.ones((1, _BLOCK, _BLOCK), dtype=np.float32)).reshape(rows, _SIDE**2)
    return fine + rng.standard_normal(fine.shape, dtype=np.float32), targets
