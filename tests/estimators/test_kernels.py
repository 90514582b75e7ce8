"""Kernel estimators: scikit-learn's conventions, and what the formula says."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

from gradlab.errors import GradlabError
from gradlab.estimators import KernelClassifier, KernelRegressor, kernels

KERNELS = ["gaussian", "boxcar", "epanechnikov", "triangular"]
X = np.array([[0.0], [1.0], [2.0], [4.0]])
Y = np.array([0.0, 10.0, 20.0, 40.0])


@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_every_check_of_scikit_learn_passes(kind, kernel):
    results = check_estimator(kind(kernel), on_fail=None, on_skip=None)
    left = {r["check_name"]: r["exception"] for r in results if r["status"] != "passed"}
    assert left.keys() <= {"check_array_api_input"}, left
    assert len(results) > 50


@pytest.mark.parametrize(
    ("kernel", "weights"),
    [
        ("gaussian", np.exp([-0.125, -0.125, -1.125, -6.125])),
        ("boxcar", [1, 1, 0, 0]),
        ("epanechnikov", [0.75, 0.75, 0, 0]),
        ("triangular", [0.5, 0.5, 0, 0]),
    ],
)
def test_a_prediction_is_the_weighted_mean_of_the_targets(kernel, weights):
    (found,) = KernelRegressor(kernel).fit(X, Y).predict([[0.5]])
    assert found == pytest.approx(np.average(Y, weights=weights), abs=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_narrow_kernel_gives_back_each_target(kernel):
    assert KernelRegressor(kernel, width=0.05).fit(X, Y).predict(X) == pytest.approx(Y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_wide_kernel_gives_the_mean_of_all_targets(kernel):
    assert KernelRegressor(kernel, width=1e6).fit(X, Y).predict(X) == pytest.approx(np.full(4, Y.mean()), rel=1e-4)


@pytest.mark.parametrize("kernel", ["boxcar", "epanechnikov", "triangular"])
def test_far_from_all_examples_the_answer_is_the_mean(kernel):
    assert KernelRegressor(kernel).fit(X, Y + 100).predict([[50.0]]).tolist() == [117.5]
    shares = KernelClassifier(kernel).fit(X, ["a", "a", "b", "a"]).predict_proba([[50.0]])
    assert shares.tolist() == [[0.75, 0.25]]


def test_far_from_all_examples_the_nearest_decides_with_the_bell_curve():
    assert KernelRegressor().fit(X, Y).predict([[1e4]]) == pytest.approx([40.0])


def test_shares_of_classes_are_those_among_the_neighbours():
    inputs, classes = load_iris(return_X_y=True)
    ours = KernelClassifier("boxcar", width=0.8).fit(inputs[::2], classes[::2])
    theirs = RadiusNeighborsClassifier(0.8).fit(inputs[::2], classes[::2])
    near = [len(found) > 0 for found in theirs.radius_neighbors(inputs, return_distance=False)]
    assert sum(near) > 140
    assert ours.predict_proba(inputs[near]) == pytest.approx(theirs.predict_proba(inputs[near]))


def test_targets_of_several_numbers():
    both = np.stack([Y, -Y], 1)
    found = KernelRegressor().fit(X, both).predict(X)
    assert found.shape == (4, 2)
    assert found[:, 0] == pytest.approx(-found[:, 1])
    assert found[:, 0] == pytest.approx(KernelRegressor().fit(X, Y).predict(X))


def test_single_precision_stays_single():
    assert KernelRegressor().fit(X.astype(np.float32), Y).predict(X.astype(np.float32)).dtype == np.float32


def test_many_examples_are_taken_in_parts(monkeypatch, rng):
    inputs = rng.normal(size=(40, 2))
    fitted = KernelRegressor().fit(inputs, inputs[:, 0])
    wanted = fitted.predict(inputs)
    monkeypatch.setattr(kernels, "_PAIRS", 120)
    assert fitted.predict(inputs) == pytest.approx(wanted)


def test_the_width_can_be_searched(rng):
    inputs = rng.uniform(-3, 3, size=(200, 1))
    targets = np.sin(inputs[:, 0]) + 0.1 * rng.normal(size=200)
    search = GridSearchCV(KernelRegressor(), {"width": [0.01, 0.2, 3.0], "kernel": ["gaussian", "epanechnikov"]})
    search.fit(inputs, targets)
    assert search.best_params_["width"] == 0.2
    assert search.best_score_ > 0.95


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"kernel": "gausian"}, "There is no KernelRegressor.kernel 'gausian'. Did you mean 'gaussian'"),
        ({"width": 0}, "KernelRegressor.width=0 must be a number above 0"),
        ({"width": float("nan")}, "KernelRegressor.width=nan must be a number above 0"),
        ({"width": "wide"}, "KernelRegressor.width=wide must be a number above 0"),
    ],
)
def test_bad_parameters_are_told_when_it_is_fitted(parameters, told):
    estimator = clone(KernelRegressor(**parameters))
    with pytest.raises(GradlabError, match=told):
        estimator.fit(X, Y)


def test_one_class_is_too_few():
    with pytest.raises(GradlabError, match="two classes or more, but y has 1 class"):
        KernelClassifier().fit(X, np.zeros(4, int))
