"""Minimisers beside SciPy and torch.optim, their stability seen in runs, and landscapes."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, rosen
from torch import nn

from gradlab.errors import GradlabError
from gradlab.maths.optimisation import argmin, minimise
from gradlab.maths.optimisation.bfgs import bfgs
from gradlab.maths.optimisation.descent import gradient_descent, heavy_ball, spectral_radius
from gradlab.maths.optimisation.landscape import loss_landscape, principal_directions, random_direction
from gradlab.maths.optimisation.line_search import wolfe
from gradlab.maths.optimisation.path import look


def rosenbrock(x):
    return (1 - x[:-1]).square().sum() + 100 * (x[1:] - x[:-1].square()).square().sum()


@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs"])
@pytest.mark.parametrize("start", [[-1.4, 0.4], [2.0, -1.0], [1.3, 0.7, 0.8, 1.9]])
def test_methods_that_search_find_the_minimum_of_a_curved_valley(method, start):
    path = minimise(rosenbrock, start, method, steps=300)
    assert path.lowest.tolist() == pytest.approx([1.0] * len(start), abs=1e-5)
    assert path.values[-1] < 1e-10
    assert rosen(path.lowest.numpy()) == pytest.approx(float(path.values.min()), abs=1e-12)
    assert (path.values.diff() <= 1e-12).all()


def test_bfgs_needs_about_as_many_steps_as_scipys():
    theirs = minimize(rosen, [-1.2, 1.0], method="BFGS", tol=1e-8)
    path, inverse = bfgs(rosenbrock, [-1.2, 1.0])
    assert len(path.points) - 1 <= 1.5 * theirs.nit
    hessian = torch.autograd.functional.hessian(rosenbrock, path.lowest)
    assert torch.allclose(inverse @ hessian, torch.eye(2, dtype=torch.float64), atol=0.1)


def test_a_path_has_the_value_and_the_gradient_of_each_point():
    path = minimise(rosenbrock, [-1.0, 1.0], "gradient", rate=1e-3, steps=5)
    for point, value, gradient in zip(path.points, path.values, path.gradients, strict=True):
        assert float(value) == pytest.approx(rosen(point.numpy()))
        assert torch.equal(gradient, look(rosenbrock, point).gradient)
    assert len(path.points) == 6


def test_the_set_of_minimisers_has_each_of_them_once():
    lowest = argmin(
        lambda x: (x[0] ** 2 - 1) ** 2 + (x[1] ** 2 - 4) ** 2, np.random.default_rng(0).normal(size=(20, 2))
    )
    assert sorted(lowest.round(decimals=4).tolist()) == [[-1, -2], [-1, 2], [1, -2], [1, 2]]


def test_a_local_minimum_is_no_minimiser():
    def tilted(x):
        return (x[0] ** 2 - 1) ** 2 + 0.3 * x[0]

    assert argmin(tilted, [[-2.0], [2.0]]).shape == (1, 1)
    assert argmin(tilted, [[-2.0], [2.0]])[0, 0] < 0


@pytest.mark.parametrize(("share", "last"), [(1.9, 0.9**300), (2.0, 1.0), (2.1, 1.1**300)])
def test_the_step_size_breaks_at_two_over_the_curvature(share, last):
    path = gradient_descent(lambda x: 5.0 * x.square().sum() / 2, [1.0], share / 5.0, 300)
    assert float(path.points[-1].abs()) == pytest.approx(last)


def test_momentum_allows_steps_that_plain_descent_does_not():
    def parabola(x):
        return x.square().sum() / 2

    assert heavy_ball(parabola, [1.0], 3.0, 0.6, 300).points[-1].abs() < 1e-6
    assert gradient_descent(parabola, [1.0], 3.0, 30).points[-1].abs() > 1e6
    assert isinstance(spectral_radius(np.array([0.5]), np.array([0.25])), np.ndarray)


def test_a_line_search_meets_both_conditions_and_refuses_to_climb():
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    ask = partial(look, rosenbrock)
    here = ask(x)
    there = wolfe(ask, here, -here.gradient)
    slope = here.gradient @ here.gradient
    length = (here.x - there.x) @ here.gradient / slope
    assert there.value == rosenbrock(there.x) <= here.value - 1e-4 * length * slope
    assert -there.gradient @ here.gradient >= -0.9 * slope
    assert wolfe(ask, here, here.gradient) is None


def test_a_landscape_leaves_the_weights_as_they_were_and_has_the_loss_in_its_middle():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)).double()
    x = torch.randn(5, 1, 4, 4, dtype=torch.float64)
    before = [p.detach().clone() for p in model.parameters()]
    first, second = random_direction(model), random_direction(model)
    seen = loss_landscape(model, lambda: model(x).square().mean(), first, second, points=5)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert float(seen.losses[2, 2]) == pytest.approx(float(model(x).square().mean().detach()))
    assert torch.allclose(first[0].flatten(1).norm(dim=1), model[0].weight.flatten(1).norm(dim=1))

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loss_landscape(model, fail, first, second)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_principal_directions_are_those_of_numpy():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 6))
    weights = [[torch.from_numpy(row[:4]).reshape(2, 2), torch.from_numpy(row[4:])] for row in rows]
    first, second, places = principal_directions(weights)
    flat = [torch.cat([p.flatten() for p in d]).numpy() for d in (first, second)]
    wanted = np.linalg.eigh((rows - rows[-1]).T @ (rows - rows[-1]))[1][:, ::-1].T[:2]
    assert np.abs(np.sum(flat * wanted, 1)) == pytest.approx([1, 1])
    assert np.allclose(places.numpy(), (rows - rows[-1]) @ np.stack(flat).T)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: minimise(rosenbrock, [1.0, 2.0], "bgfs"), "no method 'bgfs'. Did you mean 'bfgs'"),
        (lambda: minimise(rosenbrock, 1.0), "starts from a vector"),
        (lambda: minimise(lambda x: x, [1.0, 2.0]), "must give one number"),
        (lambda: gradient_descent(rosenbrock, [1.0, 2.0], -1.0), "rate must be larger than 0"),
        (lambda: argmin(rosenbrock, []), "at least one start"),
        (lambda: principal_directions([[torch.ones(2)]]), "three of its steps"),
        (lambda: loss_landscape(nn.Linear(1, 1), lambda: torch.ones(()), [], [], points=1), "needs two points"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(wrong, says):
    with pytest.raises(GradlabError, match=says):
        wrong()
