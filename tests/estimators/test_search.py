"""Estimators in the company of scikit-learn's own tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import gradlab as gl

X, Y = load_iris(return_X_y=True)


def small(**parameters):
    return gl.Classifier(**{"hidden": 16, "lr": 0.02, "epochs": 30, "random_state": 0, **parameters})


def test_a_pipeline_ends_with_a_classifier():
    pipe = make_pipeline(MinMaxScaler(), small(epochs=100)).fit(X, Y)
    assert pipe.score(X, Y) > 0.9
    assert pipe.predict_proba(X).shape == (150, 3)


def test_weights_reach_a_classifier_through_a_pipeline():
    weights = np.where(Y == 2, 0.0, 1.0)
    pipe = make_pipeline(MinMaxScaler(), small()).fit(X, Y, classifier__sample_weight=weights)
    assert set(pipe.predict(X)) == {0, 1}


def test_a_column_transformer_may_hand_over_a_sparse_matrix():
    frame = pd.DataFrame({"kind": [f"k{y}" for y in Y], "id": [f"i{i}" for i in range(150)], "length": X[:, 0]})
    columns = ColumnTransformer([("codes", OneHotEncoder(), ["kind", "id"]), ("rest", "passthrough", ["length"])])
    assert hasattr(columns.fit_transform(frame), "toarray")
    assert make_pipeline(columns, small()).fit(frame, Y).score(frame, Y) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_is_searched_in_one_process_or_two(jobs):
    search = GridSearchCV(small(), {"lr": [1e-5, 0.05], "hidden": [8, (8, 8)]}, cv=3, n_jobs=jobs, error_score="raise")
    search.fit(X, Y)
    assert search.best_params_["lr"] == 0.05
    assert search.best_estimator_.score(X, Y) > 0.85


def test_values_drawn_by_numpy_are_taken_as_parameters():
    drawn = {"lr": np.array([0.01, 0.02]), "hidden": np.array([8, 9]), "epochs": np.arange(3, 5), "dropout": [0.0]}
    RandomizedSearchCV(small(), drawn, n_iter=2, cv=2, random_state=0, error_score="raise").fit(X, Y)
    assert small(lr=np.float32(0.01), epochs=np.int64(2), batch_norm=np.bool_(True)).fit(X, Y).n_iter_ == 2


def test_cross_validation_of_both_kinds():
    assert cross_val_score(small(), X, Y, error_score="raise").mean() > 0.9
    folds = KFold(3, shuffle=True, random_state=0)
    assert cross_val_score(gl.Regressor(), X[:, :3], X[:, 3], error_score="raise", cv=folds).mean() > 0.85


def test_a_clone_has_the_parameters_and_nothing_learned():
    fitted = small(class_weight={0: 2.0}, plan={"clip": 1.0}).fit(X, Y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")
    assert not hasattr(copy, "model_")
    assert np.array_equal(copy.fit(X, Y).predict_proba(X), fitted.predict_proba(X))


def test_set_params_is_heard_by_the_next_fit():
    classifier = small(epochs=2).fit(X, Y)
    classifier.set_params(epochs=5, hidden=(4, 4)).fit(X, Y)
    assert len(classifier.loss_curve_) == 5
    assert classifier.model_[0].out_features == 4


def test_probabilities_can_be_calibrated():
    data, labels = load_breast_cancer(return_X_y=True)
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(small(), method=method, cv=3).fit(data, labels)
        assert calibrated.score(data, labels) > 0.95


def test_a_copy_by_pickle_goes_on_learning_like_the_original():
    first = small(dropout=0.2).fit(X, Y)
    second = pickle.loads(pickle.dumps(first))  # noqa: S301
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    for estimator in (first, second):
        estimator.partial_fit(X, Y)
    assert all(map(torch.equal, first.model_.parameters(), second.model_.parameters()))
