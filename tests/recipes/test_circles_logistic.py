"""Logistic regression on squares separates the circles, and on the coordinates it cannot."""

import gradlab as gl


def accuracy(tmp_path, **changes):
    return gl.train("circles-logistic", changes, out=tmp_path / "run", device="cpu").test["accuracy"]


def test_squares_make_the_circles_separable(tmp_path):
    assert accuracy(tmp_path) > 0.95


def test_a_line_cannot(tmp_path):
    assert accuracy(tmp_path, **{"model.degree": 1}) < 0.6
