"""The regressor."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from gradlab.data import Targets
from gradlab.data.moments import Moments
from gradlab.estimators.base import Estimator
from gradlab.estimators.reading import Array
from gradlab.estimators.weighing import Weights
from gradlab.tasks import Regress, Task


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """A neural network that predicts a number, or several, by squared error of the standardised targets.

    Its inputs and parameters are those of `Classifier`, but for `class_weight`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> Regressor(hidden=32, random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _stratified = False
    _targets: Mapping[str, Any] = {"multi_output": True, "y_numeric": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One epoch more, on all of X and y. The first call settles the preprocessing and the scale of y."""
        fresh = not hasattr(self, "_learner")
        return self._learn(X, y, sample_weight, fresh=fresh, epochs=1)

    def predict(self, X: Any) -> Array:
        """A number for each example, or as many as each target had."""
        outputs = self._outputs(X).numpy()
        values = (outputs * self._std + self._mean).astype(outputs.dtype)
        return values[:, 0] if self._flat else values

    def _meet(self, known: Array, training: Array, weight: Weights | None) -> None:
        self._flat = training.ndim == 1
        moments = Moments()
        moments.add(training.reshape(len(training), -1).astype(np.float64), weight)
        self._mean = moments.mean
        # By its ends: the deviation of a constant target is not exactly zero in floating point.
        self._std = np.where(moments.low < moments.high, moments.std, 1.0)

    def _task(self) -> Task:
        return Regress(Targets(mean=self._mean.tolist(), std=self._std.tolist()))

    def _encoded(self, y: Array) -> Array:
        # In double precision, which the task itself does not use.
        standard: Array = (y.reshape(len(y), -1).astype(np.float64) - self._mean) / self._std
        return standard
