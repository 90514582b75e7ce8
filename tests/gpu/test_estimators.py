"""Estimators that learn on a CUDA device, and travel to machines without one."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import gradlab as gl

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

X, Y = load_digits(return_X_y=True)


def classifier(**parameters):
    return gl.Classifier(**{"device": "cuda", "epochs": 12, "random_state": 0, **parameters})


def close(first, second, tolerance):
    """In the same network, however the arithmetic is ordered."""
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=tolerance)


def devices(estimator):
    return {p.device.type for p in estimator.model_.parameters()}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_device_learns_what_the_cpu_learns(dtype):
    fitted = classifier().fit(X.astype(dtype), Y)
    assert devices(fitted) == {"cuda"}
    assert fitted.score(X, Y) > 0.99
    close(fitted, classifier(device="cpu").fit(X.astype(dtype), Y), 1e-8 if dtype == np.float64 else 1e-2)


def test_epochs_one_by_one_are_a_fit():
    whole, parts = classifier().fit(X, Y), classifier()
    for _ in range(12):
        parts.partial_fit(X, Y, classes=np.unique(Y))
    close(whole, parts, 1e-8)  # a fit is long enough to be captured, an epoch is not


def test_a_copy_by_pickle_is_on_the_cpu_and_goes_on_where_it_is_told():
    fitted = classifier(dropout=0.2).fit(X, Y)
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert devices(copy) == {"cpu"}
    assert devices(fitted) == {"cuda"}
    close(copy, fitted, 1e-8)
    assert devices(copy.set_params(device="cpu").partial_fit(X, Y)) == {"cpu"}
    assert devices(copy.set_params(device="cuda").partial_fit(X, Y)) == {"cuda"}


def test_a_saved_one_is_read_onto_the_cpu_and_goes_on_on_the_device(tmp_path):
    fitted = classifier().fit(X, Y)
    fitted.save(tmp_path / "kept")
    loaded = gl.load_estimator(tmp_path / "kept")
    assert devices(loaded) == {"cpu"}
    close(loaded, fitted, 1e-8)
    close(loaded.partial_fit(X, Y), fitted.partial_fit(X, Y), 1e-8)
    assert devices(loaded) == {"cuda"}


def test_weights_count_on_a_device_too():
    times = np.random.default_rng(0).integers(0, 3, 100)
    options = {"batch_size": "full", "epochs": 120}
    weighted = classifier(**options).fit(X[:100], Y[:100], times)
    close(weighted, classifier(**options).fit(X[:100].repeat(times, axis=0), Y[:100].repeat(times)), 1e-6)
