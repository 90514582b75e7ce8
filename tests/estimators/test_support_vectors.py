"""Support vector machines: scikit-learn's conventions, and its SVC and SVR at the optimum."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.estimators import SupportVectorClassifier, SupportVectorRegressor

MOONS = make_moons(200, noise=0.25, random_state=0)
IRIS = load_iris(return_X_y=True)
_, FIRST = np.unique(IRIS[0], axis=0, return_index=True)  # of equal examples any may be a support vector
IRIS = IRIS[0][np.sort(FIRST)], IRIS[1][np.sort(FIRST)]
KERNELS = [
    ({"kernel": "rbf"}, {"kernel": "rbf"}),
    ({"kernel": "rbf", "gamma": 2.0, "C": 10.0}, {"kernel": "rbf", "gamma": 2.0, "C": 10.0}),
    ({"kernel": "rbf", "gamma": "auto"}, {"kernel": "rbf", "gamma": "auto"}),
    ({"kernel": "linear"}, {"kernel": "linear"}),
    ({"kernel": "polynomial", "coef0": 1.0}, {"kernel": "poly", "coef0": 1.0}),
]


def failed_checks(estimator):
    """The checks of scikit-learn that an estimator does not pass; those that need what is not installed are skipped."""
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 50
    return {r["check_name"] for r in results if r["status"] == "failed"}


@pytest.mark.parametrize("kind", [SupportVectorClassifier, SupportVectorRegressor])
def test_every_check_of_scikit_learn_passes(kind):
    assert failed_checks(kind()) == set()


def test_weights_and_repeated_examples_differ_at_a_large_tolerance():
    """As they do for SVC, which ends at 1e-3: so the default is less."""
    differs = {"check_sample_weight_equivalence_on_dense_data"}
    assert failed_checks(SupportVectorClassifier(tol=1e-3)) == differs <= failed_checks(SVC())


@pytest.mark.parametrize(("ours", "theirs"), KERNELS)
@pytest.mark.parametrize("data", [MOONS, IRIS], ids=["two classes", "three classes"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_the_classifier_is_svc_at_the_optimum(ours, theirs, data, shape):
    X, y = data
    mine = SupportVectorClassifier(**ours, tol=1e-8, decision_function_shape=shape).fit(X, y)
    other = SVC(**theirs, tol=1e-8, decision_function_shape=shape).fit(X, y)
    assert sorted(mine.support_) == sorted(other.support_)
    assert mine.n_support_.tolist() == other.n_support_.tolist()
    assert mine.intercept_ == pytest.approx(other.intercept_, abs=1e-4)
    assert mine.decision_function(X) == pytest.approx(other.decision_function(X), abs=1e-4, rel=1e-4)
    assert (mine.predict(X) == other.predict(X)).all()


@pytest.mark.parametrize(("ours", "theirs"), KERNELS)
def test_the_regressor_is_svr_at_the_optimum(ours, theirs):
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X[:120], y[:120] / 50
    mine, other = (kind(tol=1e-8, epsilon=0.2) for kind in (SupportVectorRegressor, SVR))
    mine.set_params(**ours).fit(X, y)
    other.set_params(**theirs).fit(X, y)
    assert sorted(mine.support_) == sorted(other.support_)
    assert mine.dual_coef_[0] == pytest.approx(other.dual_coef_[0], abs=1e-4)
    assert mine.predict(X) == pytest.approx(other.predict(X), abs=1e-4)


def test_weights_of_classes_and_examples_are_those_of_svc(rng):
    X, y = MOONS
    weight = rng.uniform(0, 2, len(y)) * (rng.uniform(size=len(y)) > 0.2)
    mine, other = (
        kind(tol=1e-8, gamma=1.0, class_weight={0: 1.0, 1: 5.0}).fit(X, y, weight)
        for kind in (SupportVectorClassifier, SVC)
    )
    assert mine.decision_function(X) == pytest.approx(other.decision_function(X), abs=1e-4)
    assert (X[mine.support_] == mine.support_vectors_).all()
    assert weight[mine.support_].all()


def test_a_kernel_of_ones_own():
    X, y = MOONS
    own = SupportVectorClassifier(kernel=lambda a, b: (a @ b.T + 1) ** 2, tol=1e-8).fit(X, y)
    named = SupportVectorClassifier(kernel="polynomial", degree=2, coef0=1.0, gamma=1.0, tol=1e-8).fit(X, y)
    assert own.decision_function(X) == pytest.approx(named.decision_function(X), abs=1e-5)


def test_it_is_kept_by_pickle_and_searched():
    X, y = MOONS
    search = GridSearchCV(gl.SupportVectorClassifier(), {"C": [0.01, 10.0], "gamma": [0.01, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0, "gamma": 2.0}
    again = pickle.loads(pickle.dumps(search.best_estimator_))  # noqa: S301
    assert (again.decision_function(X) == search.best_estimator_.decision_function(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbv"}, "There is no SupportVectorClassifier.kernel 'rbv'. Did you mean 'rbf'"),
        ({"C": 0}, "SupportVectorClassifier.C=0 must be a number above 0"),
        ({"tol": -1}, "SupportVectorClassifier.tol=-1 must be a number above 0"),
        ({"gamma": "wide"}, "gamma must be a number above 0"),
        ({"kernel": "sigmoid", "gamma": 1.0}, "The sigmoid kernel is not positive definite on these examples"),
        ({"kernel": lambda a, b: -(a @ b.T)}, "The own kernel is not positive definite"),
        ({"kernel": lambda a, b: a @ (b * [1.0, 2.0]).T + a[:, :1]}, "The own kernel is not symmetric"),
        ({"kernel": "polynomial", "degree": 400, "gamma": 9.0}, "is not finite"),
    ],
)
def test_bad_parameters_are_refused_when_it_is_fitted(parameters, message):
    with pytest.raises(GradlabError, match=message):
        clone(SupportVectorClassifier(**parameters)).fit(*MOONS)


def test_one_class_is_too_few():
    with pytest.raises(GradlabError, match="two classes or more, but y has 1 class"):
        SupportVectorClassifier().fit(MOONS[0], np.zeros(200, int))


def test_a_negative_epsilon_is_refused():
    with pytest.raises(GradlabError, match="epsilon=-1 must be a number of at least 0"):
        SupportVectorRegressor(epsilon=-1).fit(*MOONS)
