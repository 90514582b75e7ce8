"""Kernel regression: the width by leaving one out, beside scikit-learn's search."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from gradlab.errors import GradlabError
from gradlab.estimators import KernelClassifier, KernelRegressor
from gradlab.maths import kernel_regression
from gradlab.maths.kernel_regression import best_width, leave_one_out_error, nadaraya_watson
from gradlab.maths.random_features import feature_error
from gradlab.nn.attention import FourierFeatures

WIDTHS = [0.05, 0.15, 0.4, 1.0, 3.0]


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (40, 1))
    return x, np.sin(x[:, 0]) + 0.3 * rng.normal(size=40)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "boxcar", "triangular"])
def test_the_width_is_that_of_scikit_learns_search(noisy, kernel):
    search = GridSearchCV(
        KernelRegressor(kernel), {"width": WIDTHS}, cv=LeaveOneOut(), scoring="neg_mean_squared_error"
    ).fit(*noisy)
    errors = [float(leave_one_out_error(*noisy, kernel, width)) for width in WIDTHS]
    assert errors == pytest.approx((-search.cv_results_["mean_test_score"]).tolist())
    assert best_width(*noisy, kernel, WIDTHS) == search.best_params_["width"]


def test_an_estimator_finds_its_width(noisy):
    fitted = KernelRegressor(width="auto").fit(*noisy)
    assert fitted.width_ == pytest.approx(best_width(*noisy))
    assert 0.1 < fitted.width_ < 0.6
    fixed = KernelRegressor(width=fitted.width_).fit(*noisy)
    assert fitted.predict(noisy[0]).tolist() == fixed.predict(noisy[0]).tolist()
    classes = np.where(noisy[1] > 0, "above", "below")
    assert KernelClassifier(width="auto").fit(noisy[0], classes).score(noisy[0], classes) > 0.8


def test_rows_are_taken_in_parts(noisy, monkeypatch):
    whole = float(leave_one_out_error(*noisy, "gaussian", 0.3)), best_width(*noisy)
    monkeypatch.setattr(kernel_regression, "_PAIRS", 7 * 40)
    assert (float(leave_one_out_error(*noisy, "gaussian", 0.3)), best_width(*noisy)) == pytest.approx(whole)


def test_several_numbers_and_arrays(noisy):
    x, y = noisy
    both = nadaraya_watson(x, x, np.stack([y, -y], 1))
    assert isinstance(both, np.ndarray)
    assert both[:, 0].tolist() == pytest.approx((-both[:, 1]).tolist())


def test_what_cannot_be_is_refused(noisy):
    x, y = map(torch.from_numpy, noisy)
    with pytest.raises(GradlabError, match="There is no kernel 'round'"):
        nadaraya_watson(x, x, y, "round")
    with pytest.raises(GradlabError, match="above 0, got -1"):
        nadaraya_watson(x, x, y, width=-1)
    with pytest.raises(GradlabError, match=r"\(40, 1\) and \(39,\)"):
        nadaraya_watson(x, x, y[1:])
    with pytest.raises(GradlabError, match="needs two at least"):
        leave_one_out_error(x[:1], y[:1])
    with pytest.raises(GradlabError, match="same place"):
        best_width(torch.ones(3, 1), y[:3])
    with pytest.raises(GradlabError, match="`widths` is empty"):
        best_width(x, y, widths=[])


def test_errors_of_features_need_features():
    x = torch.zeros(1, 2)
    with pytest.raises(GradlabError, match=r"counts=\[0\]"):
        feature_error(lambda k: FourierFeatures(2, k), torch.cdist, x, x, [0])
