"""What other methods reach on the same table: a linear model and boosted trees, by scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from gradlab.data import Examples, Targets

_MOST_ROWS = 100_000  # that they learn from: boosted trees take seconds for these

_MOST_CLASSES = 30  # that boosted trees are grown for: each class has trees of its own


class Reference(nn.Module):
    """An estimator of scikit-learn, fitted, as a model: numbers, or a logit for each class, or one for two."""

    def __init__(self, estimator: Any, outputs: int, classes: int):
        super().__init__()
        self.estimator, self.outputs, self.classes = estimator, outputs, classes

    def forward(self, inputs: Shaped[Tensor, "batch columns"]) -> Float[Tensor, "batch outputs"]:
        rows = inputs.cpu().numpy()
        if not self.classes:
            predictions = self.estimator.predict(rows).reshape(len(rows), self.outputs)
            return torch.from_numpy(predictions).to(inputs)
        logits = np.full((len(rows), self.classes), np.log(1e-9))  # of classes that training did not have
        known = np.asarray(self.estimator.classes_, dtype=np.int64)
        logits[:, known] = np.log(np.maximum(self.estimator.predict_proba(rows), 1e-9))
        return torch.from_numpy(np.diff(logits) if self.outputs == 1 else logits).to(inputs)


def references(train: Examples, about: Targets, outputs: int) -> dict[str, Reference]:
    """Of a table of one's own: each fitted to the training examples as the model sees them."""
    if about.table is None:
        return {}
    rows = slice(None) if len(train) <= _MOST_ROWS else torch.randperm(len(train), generator=_seeded())[:_MOST_ROWS]
    inputs, targets = train.inputs[rows].cpu().numpy(), train.targets[rows].cpu().numpy()
    coded = list(range(inputs.shape[1]))[inputs.shape[1] - len(about.table) :]
    classes = len(about.classes or [])
    estimators = _classifiers(coded, classes) if classes else _regressors(coded)
    if about.classes is None:
        targets = targets.reshape(len(targets), -1)[:, 0]
    return {name: Reference(estimator.fit(inputs, targets), outputs, classes) for name, estimator in estimators.items()}


def _seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _classifiers(coded: Sequence[int], classes: int) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    linear = {"logistic regression": _one_hot(coded, LogisticRegression(max_iter=300))}
    if classes > _MOST_CLASSES:
        return linear
    return {**linear, "boosted trees": HistGradientBoostingClassifier(random_state=0)}


def _regressors(coded: Sequence[int]) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    return {
        "ridge regression": _one_hot(coded, Ridge()),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
    }


def _one_hot(coded: Sequence[int], estimator: Any) -> Any:
    """A linear model that sees the numbers of categories one-hot."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    if not coded:
        return estimator
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, list(coded)), remainder="passthrough"), estimator)
