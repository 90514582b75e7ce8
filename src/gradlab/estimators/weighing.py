"""How much each example counts."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from gradlab.errors import GradlabError

Weights = npt.NDArray[np.float64]
ClassWeight = Literal["balanced"] | Mapping[Any, float] | None


def sample_weights(values: Any, examples: int) -> Weights | None:
    """A weight from 0 on for each example; None where all count the same."""
    if values is None:
        return None
    values = np.full(examples, values) if isinstance(values, Real) else values
    weights: Weights = check_array(values, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (examples,):
        raise GradlabError(f"sample_weight must have shape ({examples},), one for each example, got {weights.shape}.")
    if (weights < 0).any():
        raise GradlabError(f"sample_weight holds {weights.min():g}; a weight must not be negative.")
    if not weights.any():
        raise GradlabError("Every sample_weight is zero, which leaves nothing to learn from.")
    return weights


def class_weights(
    weight: ClassWeight, classes: npt.NDArray[Any], labels: npt.NDArray[np.int64], own: Weights
) -> Weights:
    r"""What each class counts: as given by class, or so that all count the same.

    Balanced is $w_c = W / (C W_c)$, with W the sum of the examples' own weights, W_c that of class c, and C the number
    of classes that have any.
    """
    if isinstance(weight, Mapping):
        names = classes.tolist()
        left, extra = [c for c in names if c not in weight], [c for c in weight if c not in names]
        if left and extra:  # extra names alone may be classes that this part of the data happens to lack
            raise GradlabError(
                f"class_weight has a weight for {extra[0]!r}, which is no class of y, and none for {left[0]!r}."
            )
        weights = np.array([float(weight.get(c, 1.0)) for c in names])
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise GradlabError(f"Each class_weight must be a number above 0, got {dict(weight)}.")
        return weights
    if weight != "balanced":
        raise GradlabError(f"class_weight must be None, 'balanced' or a weight for each class, got {weight!r}.")
    sums = np.bincount(labels, own, minlength=len(classes))
    there = sums > 0
    return np.where(there, sums.sum() / (there.sum() * np.where(there, sums, 1.0)), 1.0)
