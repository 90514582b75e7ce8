"""The test split as it is and as a classifier sees it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gradlab.run import Run


@dataclass(frozen=True, kw_only=True)
class Judged:
    """`inputs` are raw; `actual` and `said` are indices of `classes`; `confidence` is the probability of `said`."""

    classes: list[str]
    inputs: npt.NDArray[Any]
    actual: npt.NDArray[np.int64]
    said: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]

    @classmethod
    def of(cls, run: "Run") -> "Judged":
        dataset = run.dataset
        inputs = dataset.raw.inputs[dataset.test.rows]
        said, confidence = decide(run, inputs)
        return cls(
            classes=run.data["targets"]["classes"],
            inputs=inputs,
            actual=dataset.test.targets.numpy(),
            said=said,
            confidence=confidence,
        )

    def __len__(self) -> int:
        return len(self.actual)

    def confusion(self) -> npt.NDArray[np.int64]:
        """Counts of (actual, said) pairs."""
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=np.int64)
        np.add.at(counts, (self.actual, self.said), 1)
        return counts


def decide(run: "Run", inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The most probable class of each raw input, and its probability."""
    probability, index = run.outputs(inputs).double().softmax(1).max(1)
    return index.numpy(), probability.numpy()
