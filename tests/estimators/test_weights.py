"""An example of weight k counts like k of it."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.metrics import recall_score
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(int) + (X[:, 1] > 1)
NUMBERS = X @ np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]) + RNG.normal(size=(40, 2))
TIMES = RNG.integers(0, 4, 40)

CASES = [
    (gl.Classifier(), LABELS),
    (gl.Classifier(class_weight="balanced"), LABELS),
    (gl.Classifier(class_weight={0: 3.0, 1: 0.5}), LABELS),
    (gl.Regressor(), NUMBERS[:, 0]),
    (gl.Regressor(), NUMBERS),
]


def weights_of(estimator):
    return list(estimator.model_.parameters())


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_a_weight_of_two_is_the_row_twice_and_of_zero_the_row_gone(estimator, y):
    estimator.set_params(random_state=0, batch_size="full", epochs=50)
    weighted = weights_of(estimator.fit(X, y, TIMES))
    repeated = weights_of(estimator.fit(X.repeat(TIMES, axis=0), y.repeat(TIMES, axis=0)))
    plain = weights_of(estimator.fit(X, y))
    assert_close(weighted, repeated, rtol=1e-9, atol=1e-11)
    with pytest.raises(AssertionError):
        assert_close(weighted, plain, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_only_the_proportion_of_weights_matters(estimator, y):
    estimator.set_params(random_state=0, batch_size=8, epochs=5)
    first, second = (weights_of(estimator.fit(X, y, scale * TIMES)) for scale in (1.0, 2.0**60))
    assert_close(first, second, rtol=1e-12, atol=1e-14)
    equal, plain = weights_of(estimator.fit(X, y, np.full(40, 7.0))), weights_of(estimator.fit(X, y, 7))
    assert_close(equal, plain, rtol=0, atol=0)
    assert_close(equal, weights_of(estimator.fit(X, y)), rtol=1e-9, atol=1e-11)


def test_a_class_whose_rows_all_count_nothing_is_gone():
    fitted = gl.Classifier(epochs=1).fit(X, LABELS, LABELS != 2)
    assert fitted.classes_.tolist() == [0, 1]


def test_balanced_classes_find_more_of_the_rare_one():
    data, labels = load_breast_cancer(return_X_y=True)
    few = np.flatnonzero((labels == 1) | (np.arange(len(labels)) % 8 == 0))
    noisy = data[few][:, :4] + RNG.normal(size=(len(few), 4)) * data[:, :4].std(0) * 2
    recalls = [
        recall_score(labels[few], gl.Classifier(random_state=0, class_weight=w).fit(noisy, labels[few]).predict(noisy))
        for w in (None, "balanced", {0: 100.0})
    ]
    assert recalls[0] > recalls[1] > recalls[2]  # of the class that is not rare


def test_balanced_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_class_weight

    from gradlab.estimators.weighing import class_weights

    classes = np.arange(3)
    ours = class_weights("balanced", classes, LABELS, np.ones(40))
    assert_close(ours, compute_class_weight("balanced", classes=classes, y=LABELS))


def test_the_validation_loss_counts_examples_as_training_does():
    X, y = make_regression(300, 5, noise=20.0, random_state=0)
    wrong = np.arange(300) % 2 == 0
    shifted = y + np.where(wrong, 1000.0, 0.0)
    options = {"validation": 0.3, "random_state": 0, "epochs": 30}
    # Half of the examples speak of another function. Whom they count nothing for, they must not stop either.
    judged = gl.Regressor(**options).fit(X, shifted, np.where(wrong, 1e-9, 1.0))
    assert judged.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.zeros(40), "zero"),
        (0, "zero"),
        (-np.ones(40), "must not be negative"),
        (np.ones(39), r"must have shape \(40,\)"),
        (np.ones((40, 1)), r"must have shape \(40,\)"),
        (np.full(40, np.nan), "sample_weight contains NaN"),
        (["heavy"] * 40, "could not convert"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, says):
    with pytest.raises(ValueError, match=says):
        gl.Classifier(epochs=1).fit(X, LABELS, weight)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ("even", "None, 'balanced' or a weight for each class"),
        ({0: 1.0, 1: -1.0}, "above 0"),
        ({0: 1.0, 7: 1.0}, "a weight for 7, which is no class of y, and none for 1"),
    ],
)
def test_class_weights_that_make_no_sense_are_refused(weight, says):
    with pytest.raises(GradlabError, match=says):
        gl.Classifier(epochs=1, class_weight=weight).fit(X, LABELS)


def test_class_weights_may_name_a_class_that_a_fold_lacks():
    gl.Classifier(epochs=1, class_weight={0: 1, 1: 2, 2: 3, 9: 4}).fit(X, LABELS)
