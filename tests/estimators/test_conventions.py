"""scikit-learn's own checks of an estimator: ours pass every one, and skip none that its own network does not skip."""

import warnings
from collections import Counter

import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits
from torch import nn

import gradlab as gl


def a_line(shape, outputs):
    return nn.Linear(shape[0], outputs)


def checked(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    return [(r["check_name"], r["status"], r["exception"]) for r in results]


def table(*rows):
    """A line for each estimator: how many checks it passed, failed, was expected to fail, and skipped."""
    columns = ("passed", "failed", "xfail", "skipped")
    lines = [f"{'':20}" + "".join(f"{c:>9}" for c in columns)]
    for name, results in rows:
        counts = Counter(status for _, status, _ in results)
        lines.append(f"{name:20}" + "".join(f"{counts[c]:9}" for c in columns))
    return "\n".join(lines)


def with_status(results, status):
    return {name: error for name, found, error in results if found == status}


@pytest.mark.parametrize(("ours", "theirs"), [(gl.Classifier, MLPClassifier), (gl.Regressor, MLPRegressor)])
def test_every_check_passes_and_only_what_scikit_learns_network_skips_is_skipped(ours, theirs):
    mine = checked(ours())  # with warnings as errors
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # scikit-learn's network has not converged after its 200 epochs, and says so
        reference = checked(theirs())
    print(table((ours.__name__, mine), (theirs.__name__, reference)))
    assert {status for _, status, _ in mine} <= {"passed", "skipped"}, with_status(mine, "failed")
    assert with_status(mine, "skipped").keys() <= with_status(reference, "skipped").keys()
    assert len(mine) > 50
    # Of the checks that apply to both, none is left out.
    names = {name for name, *_ in mine}
    left = {name for name, *_ in reference if name not in names and "multilabel" not in name}
    assert not left - {"check_classifier_multioutput"}


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (
            gl.Classifier,
            {
                "model": "linear",
                "optimizer": "momentum",
                "lr": 0.1,
                "epochs": 40,
                "preprocess": "scale",
                "class_weight": "balanced",
            },
        ),
        (gl.Regressor, {"model": a_line, "optimizer": "lbfgs", "lr": 1.0, "epochs": 5}),
    ],
    ids=["a linear classifier", "a network of one's own"],
)
def test_every_check_passes_for_other_parameters_too(kind, parameters):
    results = checked(kind(**parameters))
    assert not with_status(results, "failed")
    assert with_status(results, "skipped").keys() <= {"check_array_api_input"}
