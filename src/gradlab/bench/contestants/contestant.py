"""What a contestant is."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gradlab.bench.work import Work


class Contestant(ABC):
    """Trains the model of a piece of work. Only `train` is timed: from arrays and a new model to a trained one."""

    def build(self, work: Work) -> Any:
        """An untrained model."""
        return work.model()

    @abstractmethod
    def train(self, model: Any, work: Work) -> int:
        """Train it on the whole of the work; the number of updates that took."""

    def logits(self, model: Any, work: Work) -> npt.NDArray[np.floating]:
        """The trained model's outputs for the training data."""
        with torch.inference_mode():
            logits: npt.NDArray[np.floating] = model.eval()(torch.from_numpy(work.inputs)).numpy()
        return logits

    def tidy(self) -> None:  # noqa: B027  (most leave nothing)
        """Clear away what the training left on the disk."""
