"""On small tables the defaults do as well as scikit-learn's own network behind a scaler."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import cross_validate
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import gradlab as gl


def scores(estimator, data, scoring=("r2",)):
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # that scikit-learn's network has not converged
        judged = cross_validate(estimator, *data(return_X_y=True), cv=5, scoring=scoring)
    return np.array([judged[f"test_{name}"] for name in scoring])


@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer])
def test_classes_are_told_apart_as_well_as_by_scikit_learn(data):
    scoring = ["accuracy", "neg_log_loss"]
    ours = scores(gl.Classifier(random_state=0), data, scoring)
    theirs = scores(make_pipeline(StandardScaler(), MLPClassifier(random_state=0)), data, scoring)
    assert (ours.mean(1) > theirs.mean(1) - 0.03).all()


def test_numbers_are_predicted_better_than_by_scikit_learn_and_about_as_well_as_by_a_line():
    ours = scores(gl.Regressor(random_state=0), load_diabetes)
    line = scores(gl.Regressor(model="linear", random_state=0), load_diabetes)
    theirs = scores(make_pipeline(StandardScaler(), MLPRegressor(random_state=0)), load_diabetes)
    assert ours.mean() > max(theirs.mean(), 0.38)
    assert line.mean() > 0.45


def test_early_stopping_does_no_harm():
    stopped = scores(gl.Regressor(random_state=0, validation=0.2, patience=10), load_diabetes)
    assert stopped.mean() > 0.4
    assert np.std(stopped) < 0.1
