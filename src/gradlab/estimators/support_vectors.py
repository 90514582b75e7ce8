"""Support vector machines behind scikit-learn's interface: fitted by solving their dual problem."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from gradlab.errors import GradlabError, unknown
from gradlab.estimators.reading import Array
from gradlab.estimators.weighing import ClassWeight, class_weights, sample_weights
from gradlab.maths.kernel_functions import NAMES, KernelName
from gradlab.models.support_vectors import (
    SupportVectorClassification,
    SupportVectorRegression,
    SupportVectors,
    SupportVectorSettings,
    votes,
)

Kernel = KernelName | Callable[[Array, Array], Any]
Gamma = float | Literal["scale", "auto"]


class OwnKernel:
    """A kernel of arrays as one of tensors."""

    def __init__(self, function: Callable[[Array, Array], Any]):
        self.function = function

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(np.asarray(self.function(x.numpy(), y.numpy()), dtype=np.float64))


class SupportVectorEstimator(BaseEstimator):  # type: ignore[misc]
    """What is the same for classes and numbers."""

    _model: SupportVectors

    @property
    def support_(self) -> Array:
        """Which examples are support vectors, in the order of the examples."""
        return self._model.rows.numpy()

    @property
    def support_vectors_(self) -> Array:
        """Those examples."""
        return self._model.vectors.numpy()

    @property
    def dual_coef_(self) -> Array:
        """The coefficient β of each support vector: a row for each pair of classes, or one of a regression."""
        return self._model.coefficients.numpy()

    @property
    def intercept_(self) -> Array:
        """b of each row of `dual_coef_`."""
        return self._model.intercepts.numpy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _settings(self) -> SupportVectorSettings:
        """The parameters, checked."""
        name = type(self).__name__
        if not callable(self.kernel) and self.kernel not in NAMES:
            raise unknown(f"{name}.kernel", str(self.kernel), NAMES)
        for parameter in ("C", "tol"):
            value = getattr(self, parameter)
            if not (isinstance(value, (int, float, np.number)) and 0 < value < float("inf")):
                raise GradlabError(f"{name}.{parameter}={value} must be a number above 0.")
        return SupportVectorSettings(
            C=float(self.C),
            kernel="rbf" if callable(self.kernel) else self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            tol=float(self.tol),
        )

    def _fitted(self, model: SupportVectors, X: Array, targets: Any, weight: Any) -> None:
        there = slice(None) if weight is None else np.flatnonzero(weight)
        model.fit(
            torch.from_numpy(np.array(X[there], np.float64)),
            torch.from_numpy(np.array(targets[there])),
            None if weight is None else torch.from_numpy(weight[there]),
        )
        if weight is not None:  # examples of weight 0 were left out, and are counted again
            model.rows = torch.from_numpy(there)[model.rows]
        self._model = model

    @property
    def _own(self) -> OwnKernel | None:
        return OwnKernel(self.kernel) if callable(self.kernel) else None

    def _read(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        return torch.from_numpy(np.array(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]), float))


class SupportVectorClassifier(ClassifierMixin, SupportVectorEstimator):  # type: ignore[misc]
    r"""The widest margin between classes, with a kernel; several classes one versus one.

    $$ \min \tfrac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i)), \qquad f(x) = \sum_i \beta_i k(x_i, x) + b $$

    - `C`: what errors cost beside the width of the margin
    - `kernel`: "rbf", "linear", "polynomial", "sigmoid", or a function of two arrays of examples; one that is not
      positive definite is refused
    - `gamma`: factor in the kernel; "scale" is 1 / (features · variance), "auto" 1 / features
    - `degree`, `coef0`: of the polynomial kernel (γ⟨x, y⟩ + coef0)^degree; `coef0` of the sigmoid too
    - `tol`: by how much the conditions of the optimum may be violated; so small that a weight of 2 and an example
      given twice have the same fit, which costs little
    - `class_weight`: None, "balanced", or a weight for each class, which multiplies C
    - `decision_function_shape`: "ovr", a value for each class, or "ovo", one for each pair

    Inputs are taken as they are: standardise them before. At the optimum it is scikit-learn's SVC.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = SupportVectorClassifier().fit(X, y)
    >>> fitted.score(X, y) > 0.95, fitted.n_support_
    (True, array([ 7, 29, 24]))
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        *,
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-7,
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for the support vectors and their coefficients; a weight multiplies the C of its example."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise GradlabError(f"A classifier needs two classes or more, but y has 1 class: {self.classes_[0]!r}.")
        weight = sample_weights(sample_weight, len(X))
        if self.class_weight is not None:
            own = np.ones(len(X)) if weight is None else weight
            weight = own * class_weights(self.class_weight, self.classes_, labels, own)[labels]
        model = SupportVectorClassification(X.shape[1], len(self.classes_), self._settings(), self._own)
        self._fitted(model, X, labels, weight)
        self.n_support_ = np.bincount(labels[self.support_], minlength=len(self.classes_))
        return self

    def decision_function(self, X: Any) -> Array:
        """How far an example is on which side: of two classes positive for the second; else as the shape says."""
        x = self._read(X)
        values = self._model.values(x)
        if len(self.classes_) == 2:
            return values[:, 0].numpy()
        return (values if self.decision_function_shape == "ovo" else votes(values, len(self.classes_))).numpy()

    def predict(self, X: Any) -> Array:
        """The class with the most votes; of equal ones, that with the larger values."""
        x = self._read(X)  # which says whether anything was fitted
        outputs = self._model(x)
        chosen = (outputs[:, 0] > 0).long() if len(self.classes_) == 2 else outputs.argmax(1)
        classes: Array = self.classes_[chosen.numpy()]
        return classes


class SupportVectorRegressor(RegressorMixin, SupportVectorEstimator):  # type: ignore[misc]
    r"""The flattest function of which errors up to ε cost nothing, with a kernel.

    $$ \min \tfrac12 |w|^2 + C \sum_i \max(0, |y_i - f(x_i)| - \varepsilon),
       \quad f(x) = \sum_i \beta_i k(x_i, x) + b $$

    - `epsilon`: error that costs nothing, in units of y

    Its other parameters are those of `SupportVectorClassifier`. At the optimum it is scikit-learn's SVR.

    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> SupportVectorRegressor(C=10.0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.98
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        *,
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-7,
        epsilon: float = 0.1,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for the support vectors and their coefficients; a weight multiplies the C of its example."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        if not (isinstance(self.epsilon, (int, float, np.number)) and 0 <= self.epsilon < float("inf")):
            raise GradlabError(f"SupportVectorRegressor.epsilon={self.epsilon} must be a number of at least 0.")
        model = SupportVectorRegression(X.shape[1], 1, self._settings(), self._own, epsilon=float(self.epsilon))
        self._fitted(model, X, y.astype(np.float64), sample_weights(sample_weight, len(X)))
        return self

    def predict(self, X: Any) -> Array:
        """A number for each example."""
        x = self._read(X)
        return self._model.values(x)[:, 0].numpy()
