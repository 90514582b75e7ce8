"""Does a classifier that is 80 % sure have it right 80 % of the time?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int64
from torch import Tensor

Array = npt.NDArray[np.float64]

_BINS = 15
_EDGES = np.arange(1, _BINS) / _BINS


@dataclass(frozen=True)
class Reliability:
    r"""Examples by the probability of the class they are given, in bins of equal width $(\tfrac{m-1}M, \tfrac mM]$.

    Of each bin, `count` is how many examples it has, `right` how many of them are right, and `confident` the sum of
    their probabilities, which for a calibrated model is about the same. Naeini et al. 2015; Guo et al. 2017,
    arXiv:1706.04599.
    """

    count: Array
    confident: Array
    right: Array

    @classmethod
    def of(cls, confidence: Array, right: npt.NDArray[np.bool_]) -> "Reliability":
        place = _EDGES.searchsorted(confidence)  # how many edges are below it
        count, confident, hits = (
            np.bincount(place, weights, _BINS).astype(np.float64) for weights in (None, confidence, right)
        )
        return cls(count, confident, hits)

    @classmethod
    def of_logits(
        cls, logits: Float[Tensor, "examples classes"], target: Int64[Tensor, " examples"], temperature: float = 1.0
    ) -> "Reliability":
        confidence, said = (logits.double() / temperature).softmax(1).max(1)
        return cls.of(confidence.cpu().numpy(), (said == target).cpu().numpy())

    @property
    def ece(self) -> float:
        r"""Expected calibration error, $\sum_m \tfrac{n_m}n |\mathrm{accuracy}_m - \mathrm{confidence}_m|$."""
        return float(np.abs(self.right - self.confident).sum() / self.count.sum())
