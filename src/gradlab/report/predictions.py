"""The test split as it is and as a classifier sees it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

    from gradlab.run import Run


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """`rows` are where the examples lie in the source; `actual` and `predicted` are indices of `classes`.

    `probabilities` are those of each class, `confidence` the one of what is predicted, and `calibrated` the same at the
    run's temperature, where it has one.
    """

    classes: list[str]
    rows: npt.NDArray[np.int64]
    actual: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    confidence: npt.NDArray[np.float64]
    calibrated: npt.NDArray[np.float64] | None

    @classmethod
    def of(cls, run: "Run") -> "Predictions":
        test = run.dataset.test
        logits = _class_logits(run, run.evaluated(test.inputs))
        probabilities = logits.softmax(1)
        confidence, predicted = probabilities.max(1)
        fitted = run.finished.get("calibration") or {"refused": "no validation split"}
        return cls(
            classes=run.data["targets"]["classes"],
            rows=test.rows,
            actual=test.targets.numpy(),
            predicted=predicted.numpy(),
            probabilities=probabilities.numpy(),
            confidence=confidence.numpy(),
            calibrated=None if "refused" in fitted else (logits / fitted["temperature"]).softmax(1).amax(1).numpy(),
        )

    def __len__(self) -> int:
        return len(self.actual)

    def confusion(self) -> npt.NDArray[np.int64]:
        """Counts of (actual, predicted) pairs."""
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=np.int64)
        np.add.at(counts, (self.actual, self.predicted), 1)
        return counts

    def mistakes(self) -> npt.NDArray[np.int64]:
        """Which examples are wrong, the most confident first."""
        wrong = np.flatnonzero(self.predicted != self.actual)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")]

    def raw(self, run: "Run", chosen: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The raw inputs of some examples. All of them may be more than memory holds."""
        return np.asarray(run.dataset.raw.inputs[self.rows[chosen]])


def classify(run: "Run", inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The most probable class of each raw input, and its probability."""
    probability, index = _class_logits(run, run.outputs(inputs)).softmax(1).max(1)
    return index.numpy(), probability.numpy()


def _class_logits(run: "Run", outputs: "Tensor") -> "Tensor":
    from gradlab.tasks import Classify

    assert isinstance(run.task, Classify)
    return run.task.class_logits(outputs).double()
