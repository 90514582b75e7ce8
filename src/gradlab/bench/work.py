"""A case made real: its arrays, and its model with the same first weights for everybody."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from gradlab.bench.cases import Case
from gradlab.data.text.corpus import pydoc_topics
from gradlab.models import lenet, mlp
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.specs import Array, Picture

HEADS = 4  # of each attention

CLASSES = 10
_CHARACTERS = 65  # as many as Tiny Shakespeare has
_SIDE = 28  # of an image of MNIST
_BLOCK = 4  # pixels of equal colour each way, so that convolutions find something too
_BLUR = 2.0


@dataclass(frozen=True)
class Work:
    """Arrays, not tensors: what every contestant's users have in hand."""

    case: Case
    inputs: npt.NDArray[Any]
    targets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, case: Case) -> "Work":
        if case.length:
            return cls(case, *_windows(case.rows, case.length))
        inputs, targets = _digits() if case.data == "digits" else prototypes(case.rows)
        shape = (1, _SIDE, _SIDE) if case.model == "lenet" else (-1,)
        inputs = inputs.reshape(len(inputs), *shape)
        return cls(case, inputs[: case.rows], targets[: case.rows])

    @property
    def warm_up(self) -> "Work":
        """A few batches of it: libraries import, allocate and start threads in their first training."""
        rows = min(self.case.rows, 4 * self.case.batch_size)
        return Work(replace(self.case, rows=rows, epochs=1), self.inputs[:rows], self.targets[:rows])

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """The text that the windows were cut from."""
        return np.append(self.inputs, self.targets[-1, -1])

    @property
    def vocabulary(self) -> int:
        return _CHARACTERS

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        case = self.case
        if case.model == "lstm":
            return RecurrentLanguageModel(_CHARACTERS, dim=case.hidden[0], layers=len(case.hidden), cell="lstm")
        if case.model == "gpt":
            return TransformerLanguageModel(
                _CHARACTERS, case.length, dim=case.hidden[0], layers=len(case.hidden), heads=HEADS
            )
        if case.model == "lenet":
            return lenet(Picture(*self.inputs.shape[1:]), CLASSES)
        return mlp(Array.of(self.inputs.shape[1:]), CLASSES, hidden=[*case.hidden])

    def loss(self, logits: npt.NDArray[np.floating]) -> float:
        """Mean cross-entropy over the training data: how far the contestant got."""
        wide = logits.astype(np.float64).reshape(-1, logits.shape[-1])
        wide = wide - wide.max(axis=1, keepdims=True)
        own = wide[np.arange(len(wide)), self.targets.ravel()]
        return float((np.log(np.exp(wide).sum(axis=1)) - own).mean())


def _digits() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.data))
    return (bunch.data[order] / 16).astype(np.float32), bunch.target[order].astype(np.int64)


def prototypes(
    rows: int, channels: int = 1, side: int = _SIDE, blur: float = _BLUR
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Ten coarse pictures, by default blurred into each other so much that the loss neither stays nor vanishes."""
    rng = np.random.default_rng(0)
    coarse = (channels, side // _BLOCK, side // _BLOCK)
    middles = rng.standard_normal((CLASSES, *coarse), dtype=np.float32)
    targets = rng.integers(0, CLASSES, rows)
    pictures = middles[targets] + blur * rng.standard_normal((rows, *coarse), dtype=np.float32)
    fine = np.kron(pictures, np.ones((1, 1, _BLOCK, _BLOCK), dtype=np.float32))
    return fine + rng.standard_normal(fine.shape, dtype=np.float32), targets


def _windows(rows: int, length: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Python's own documentation in its most frequent bytes; one token stands for all others."""
    text = "".join(pydoc_topics().pieces()).encode()[: rows * length + 1]
    frequent = [byte for byte, _ in Counter(text).most_common(_CHARACTERS - 1)]
    table = np.full(256, _CHARACTERS - 1)
    table[frequent] = np.arange(len(frequent))
    tokens = table[np.frombuffer(text, np.uint8)]
    return tokens[:-1].reshape(rows, length), tokens[1:].reshape(rows, length)
