"""Inputs and targets as they are handed in, checked as scikit-learn's own estimators check them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from gradlab.data.tables.columns import Column
from gradlab.errors import GradlabError
from gradlab.estimators.frames import as_numbers, columns_of, is_pandas_frame

Array = npt.NDArray[Any]
Columns = list[Column] | None
"""What the columns of a frame are; None for arrays, where all are numbers."""

_ARRAYS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "allow_nd": True}
_FRAMES: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}  # a gap is filled, and infinity found already


def read_first(estimator: BaseEstimator, X: Any, y: Any, targets: Mapping[str, Any]) -> tuple[Array, Array, Columns]:
    """Inputs, targets, and what the inputs are. The estimator takes note of their number and names."""
    if not is_pandas_frame(X):
        X, y = validate_data(estimator, X, y, **_ARRAYS, **targets)
        return _dense(X), y, None
    columns = columns_of(X)
    validate_data(estimator, X, y, skip_check_array=True)
    X, y = check_X_y(as_numbers(X, columns), y, estimator=estimator, **_FRAMES, **targets)
    return X, y, columns


def read_again(
    estimator: BaseEstimator, X: Any, y: Any, targets: Mapping[str, Any], columns: Columns
) -> tuple[Array, Array]:
    """More of what the estimator has seen before."""
    if is_pandas_frame(X) and columns is not None:
        validate_data(estimator, X, y, reset=False, skip_check_array=True)
        X, y = check_X_y(as_numbers(X, columns), y, estimator=estimator, **_FRAMES, **targets)
        return X, y
    _check_numbers(estimator, columns)
    X, y = validate_data(estimator, X, y, reset=False, **_ARRAYS, **targets)
    return _dense(X), y


def read_inputs(estimator: BaseEstimator, X: Any, columns: Columns) -> Array:
    """Inputs alone."""
    if is_pandas_frame(X) and columns is not None:
        validate_data(estimator, X, reset=False, skip_check_array=True)
        numbers: Array = check_array(as_numbers(X, columns), estimator=estimator, **_FRAMES)
        return numbers
    _check_numbers(estimator, columns)
    return _dense(validate_data(estimator, X, reset=False, **_ARRAYS))


def _check_numbers(estimator: BaseEstimator, columns: Columns) -> None:
    """An array has nothing but numbers to offer."""
    other = [c for c in columns or () if c.kind != "number"]
    if other:
        raise GradlabError(
            f"This {type(estimator).__name__} was fitted on a frame in which {other[0].name!r} is a {other[0].kind}. "
            "Give it a frame with the same columns."
        )


def _dense(X: Any) -> Array:
    dense: Array = X.toarray() if hasattr(X, "toarray") else X
    return dense
