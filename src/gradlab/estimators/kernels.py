"""Kernel regression and classification: predictions are means of the known targets nearby, without training."""

import math
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gradlab.errors import GradlabError, unknown
from gradlab.estimators.reading import Array
from gradlab.maths.kernel_regression import best_width
from gradlab.nn.attention.pooling import Kernel, KernelAttention, kernels

_PAIRS = 2**24  # distances that are held at once


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Attention whose keys are the examples. What it knows is all of them."""

    def __init__(self, kernel: Kernel = "gaussian", width: float | Literal["auto"] = 1.0):
        self.kernel = kernel
        self.width = width

    def _attention(self, width: Any) -> KernelAttention:
        if self.kernel not in kernels:
            raise unknown(f"{type(self).__name__}.kernel", str(self.kernel), kernels)
        if not (isinstance(width, (int, float, np.number)) and 0 < width < math.inf):
            raise GradlabError(f'{type(self).__name__}.width={width} must be a number above 0, or "auto".')
        return kernels[self.kernel](float(width))

    def _remember(self, X: Array, targets: Array) -> None:
        """Keep the examples, and each target as its difference from the mean, which is the answer far from them all."""
        self._attention(1.0 if self.width == "auto" else self.width)
        self.width_ = self.width
        if self.width == "auto":
            self.width_ = best_width(torch.from_numpy(X).double(), torch.from_numpy(targets).double(), self.kernel)
        self.keys_ = X
        self.mean_ = targets.mean(0)
        self.differences_ = targets - self.mean_

    def _means(self, X: Any) -> Array:
        """The mean of the targets near each example."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        attention = self._attention(self.width_)
        kind = np.result_type(X, self.keys_)
        queries, keys, values = (torch.from_numpy(np.array(x, kind)) for x in (X, self.keys_, self.differences_))
        at_once = max(1, _PAIRS // len(keys))
        with torch.inference_mode():
            near = torch.cat([attention(some, keys, values) for some in torch.split(queries, at_once)])
        means: Array = (near.numpy() + self.mean_).astype(X.dtype)
        return means


class KernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    r"""The mean of the targets of the examples nearby, in the manner of Nadaraya and Watson.

    $$ f(x) = \frac{\sum_i \alpha(x, x_i) \, y_i}{\sum_i \alpha(x, x_i)} $$

    - `kernel`: what an example counts by its distance: "gaussian", "boxcar", "epanechnikov" or "triangular"
    - `width`: the unit of distance; inputs are taken as they are, so columns should have like scales. With "auto" it is
      that with the least error when each example is left out once, and is in `width_` then.

    Far from all examples, where a bounded kernel gives none a weight, the answer is the mean of all targets.

    >>> import numpy as np
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> KernelRegressor("epanechnikov", width=0.3).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples and their targets."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], multi_output=True, y_numeric=True)
        self._flat = y.ndim == 1
        self._remember(X, y.reshape(len(y), -1).astype(np.float64))
        return self

    def predict(self, X: Any) -> Array:
        """A number for each example, or as many as each target had."""
        means = self._means(X)
        return means[:, 0] if self._flat else means


class KernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    r"""The share of each class among the examples nearby: kernel regression whose targets are one-hot.

    $$ p_c(x) = \frac{\sum_i \alpha(x, x_i) \, [y_i = c]}{\sum_i \alpha(x, x_i)} $$

    Its parameters are those of `KernelRegressor`. Far from all examples, the shares are those among all of them.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(width=0.5).fit(X, y).score(X, y) > 0.95
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples and their classes."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise GradlabError(f"A classifier needs two classes or more, but y has 1 class: {self.classes_[0]!r}.")
        self._remember(X, np.eye(len(self.classes_))[labels])
        return self

    def predict_proba(self, X: Any) -> Array:
        """The share of each class, in the order of `classes_`."""
        return self._means(X).clip(0.0, 1.0)

    def predict(self, X: Any) -> Array:
        """The class with the largest share."""
        shares = self.predict_proba(X)
        chosen: Array = self.classes_[shares.argmax(1)]
        return chosen
