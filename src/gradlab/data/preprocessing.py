"""From raw inputs to what a model is fed: fitted on the training split alone, saved in the run."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gradlab.data.raw import check_finite
from gradlab.errors import GradlabError, unknown

Method = Literal["standardise", "scale", "none"]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    r"""$x' = (x - \text{shift}) / \text{scale}$ column by column, and one-hot codes for columns of categories.

    `standardise` takes the training mean and standard deviation, `scale` the training minimum and range; images have
    one pair per channel, tables one per column. A constant column has scale 1.

    >>> table = np.array([[0.0, 7.0], [2.0, 8.0]])
    >>> Preprocessing.fit(table, "standardise", ["size", "kind"], one_hot=["kind"])(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    shape: list[int]
    features: list[str] = field(default_factory=list)
    method: Method = "none"
    shift: list[float] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    categories: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, training: npt.NDArray[Any], method: Method, features: list[str], one_hot: list[str]
    ) -> "Preprocessing":
        for column in one_hot:
            if column not in features:
                raise unknown("column", column, features)
        coded = {c: np.unique(training[:, features.index(c)]).tolist() for c in one_hot}
        numeric = training[:, [i for i, f in enumerate(features) if f not in coded]] if coded else training
        axes = (0,) if numeric.ndim == 2 else (0, *range(2, numeric.ndim))  # an image has statistics per channel
        low, high = (extreme(axis=axes).astype(np.float64) for extreme in (numeric.min, numeric.max))
        # A float64 accumulator over the small integer types of images, without a float64 copy of them.
        if method == "standardise":
            shift, scale = numeric.mean(axis=axes, dtype=np.float64), numeric.std(axis=axes, dtype=np.float64)
        elif method == "scale":
            shift, scale = low, high - low
        else:
            shift = scale = np.empty(0)
        return cls(
            shape=list(training.shape[1:]),
            features=features,
            method=method,
            shift=shift.tolist(),
            # By its ends: the deviation of a constant column is not exactly zero in floating point.
            scale=np.where(low < high, scale, 1.0).tolist() if method != "none" else [],
            categories=coded,
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of one example as the model sees it."""
        if not self.categories:
            return tuple(self.shape)
        return (self.shape[0] - len(self.categories) + sum(map(len, self.categories.values())),)

    def __call__(self, raw: npt.NDArray[Any]) -> Tensor:
        """Raw inputs, one row per example, as a float32 tensor for the model."""
        if list(raw.shape[1:]) != self.shape:
            raise GradlabError(
                f"Each input must have shape {tuple(self.shape)}, got {tuple(raw.shape[1:])} "
                f"(the whole input has shape {tuple(raw.shape)}, examples first)."
            )
        check_finite(raw, self.features)
        codes = [self._one_hot(raw[:, self.features.index(c)], c) for c in self.categories]
        if codes:
            raw = raw[:, [i for i, f in enumerate(self.features) if f not in self.categories]]
        # Wide numbers are shifted in float64, where a column far from zero keeps its digits; pixels need no more.
        values: npt.NDArray[np.floating[Any]] = raw.astype(
            np.float32 if raw.dtype.itemsize <= 2 or raw.dtype == np.float32 else np.float64
        )
        if self.method != "none":
            broadcast = (1, -1) + (1,) * (values.ndim - 2)
            values -= np.array(self.shift, values.dtype).reshape(broadcast)
            values /= np.array(self.scale, values.dtype).reshape(broadcast)
        x = torch.from_numpy(values).float()
        return torch.cat([x, *codes], dim=1) if codes else x

    def _one_hot(self, column: npt.NDArray[Any], name: str) -> Tensor:
        known = np.array(self.categories[name])
        for row, value in enumerate(column):
            if value not in known:
                raise GradlabError(f"Row {row}, column {name!r}: {value:g} is not among the training values {known}.")
        return torch.from_numpy((column[:, None] == known).astype(np.float32))
