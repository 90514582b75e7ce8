"""Pictures of expressiveness, optimisation and small trainings show what is computed."""

from functools import cache

import numpy as np
import pytest

from gradlab.explanation.picture import figure_of, figure_page, figure_title
from gradlab.explanation.shown.inductive_bias import mistakes

NAMES = [
    "affine-regions",
    "bn-minibatch-noise",
    "depth-separation",
    "gd-rate-convex",
    "inductive-bias",
    "internal-covariate-shift",
    "loss-landscape",
    "minimisers-on-rosenbrock",
    "momentum-stability",
    "pwl-2d-counterexample",
    "sigmoid-problems",
    "step-size-threshold",
    "training-path",
    "universal-approximation-width",
]


@cache
def figure(name):
    return figure_of(name)()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_a_page_with_named_axes(name):
    drawn = figure(name)
    assert drawn.layout["xaxis"]["title"]["text"]
    assert drawn.layout["yaxis"]["title"]["text"]
    assert drawn.note
    assert figure_title(name) in figure_page(name, drawn)


def trace(name, start):
    return next(t for t in figure(name).traces if t.get("name", "").startswith(start))


def test_gradient_descent_stays_below_its_bound():
    bound = np.asarray(trace("gd-rate-convex", "the bound")["y"])
    for drawn in figure("gd-rate-convex").traces[:-1]:
        assert (np.asarray(drawn["y"]) <= bound).all()


def test_runs_with_momentum_arrive_where_the_edge_says():
    for name, inside in (("runs that arrive", True), ("runs that leave", False)):
        marks = trace("momentum-stability", name)
        assert ((np.asarray(marks["x"]) < 2 * (1 + np.asarray(marks["y"]))) == inside).all()


def test_behind_a_sigmoid_both_weights_rise_or_both_fall():
    steps = np.diff([trace("sigmoid-problems", "behind a sigmoid")[axis] for axis in "xy"])
    assert (steps[0] * steps[1] >= 0).all()
    steps = np.diff([trace("sigmoid-problems", "behind a tanh")[axis] for axis in "xy"])
    assert (steps[0] * steps[1] < 0).sum() > 10


def test_normalised_inputs_move_less():
    name = "internal-covariate-shift"
    without, normalised = (trace(name, f"{kind}, inputs of layer 5") for kind in ("without", "with batch norm"))
    assert float(without["y"][-1]) > 20 * float(normalised["y"][-1])


def test_an_order_of_pixels_is_worth_something_to_convolutions_alone():
    dense, convolution, dense_permuted, permuted = (np.array(errors) for errors in mistakes().values())
    assert (convolution < dense - 0.1).all()
    assert (permuted > convolution + 0.2).all()
    assert np.abs(dense - dense_permuted).max() < 0.1
