"""Joint tables and densities on grids: what they refuse, and details that no law states."""

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths.probability import GridDensity, JointTable, bayes

WEATHER = JointTable([[0.3, 0.1], [0.1, 0.5]], ["rain", "wet"], {"rain": ["yes", "no"]})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: JointTable([0.5, 0.6], ["x"]), "JointTable: probabilities must sum to 1, and these sum to 1.1"),
        (lambda: JointTable([[1.5, 0.0], [-0.5, 0.0]], ["x", "y"]), "JointTable[1, 0] is -0.5"),
        (lambda: JointTable([0.5, float("nan")], ["x"]), "JointTable[1] is nan"),
        (lambda: JointTable([[1.0]], ["x"]), "2 axes need as many different names, got x"),
        (lambda: JointTable([[1.0]], ["x", "x"]), "2 axes need as many different names"),
        (lambda: JointTable([0.5, 0.5], ["x"], {"x": [1, 1]}), "x needs 2 different values"),
        (lambda: JointTable([0.5, 0.5], ["x"], {"y": [1, 2]}), "There is no variable 'y'"),
        (lambda: WEATHER.marginal("rian"), "Did you mean 'rain'"),
        (lambda: WEATHER.condition(rain="maybe"), "rain is never 'maybe'"),
        (lambda: JointTable([[0.5, 0.0], [0.5, 0.0]], ["x", "y"]).condition(y=1), "y=1 has probability 0"),
        (
            lambda: bayes([0.5, 0.6], [[1.0, 0.0], [0.0, 1.0]]),
            "prior: probabilities must sum to 1, and these",
        ),
        (lambda: bayes([0.5, 0.5], [[1.0, 0.0], [0.5, 0.6]]), "those of likelihood[1] sum to 1.1"),
        (lambda: bayes([0.5, 0.5], [[1.0, 0.0]]), "2 causes need as many rows"),
        (lambda: bayes([0.5, 0.5], [[1.0, 0.0], [1.0, 0.0]]), "the effect 1 has probability 0"),
        (lambda: GridDensity([1.0, 2.0], x=[0.0, 1.0, 2.0]), "the shape (3,) of the grids, not (2,)"),
        (lambda: GridDensity([1.0, 2.0], x=[1.0, 0.0]), "grid of x must have two points or more, in rising order"),
        (lambda: GridDensity([1.0, -2.0], x=[0.0, 1.0]), "its lowest value is -2"),
        (lambda: GridDensity([0.0, 0.0], x=[0.0, 1.0]), "0 at every point"),
        (lambda: GridDensity([1.0, 1.0], x=[0.0, 1.0]).condition(x=3.0), "x=3 is outside of its grid, 0 to 1"),
        (lambda: GridDensity([1.0, 1.0], x=[0.0, 1.0]).marginal("y"), "There is no variable 'y'"),
    ],
)
def test_what_is_refused_is_named(build, message):
    with pytest.raises(GradlabError) as error:
        build()
    assert message in str(error.value)


def test_marginals_may_change_the_order_of_the_axes():
    swapped = WEATHER.marginal("wet", "rain")
    assert swapped.names == ("wet", "rain")
    assert swapped.values["rain"] == ("yes", "no")
    torch.testing.assert_close(swapped.probabilities, WEATHER.probabilities.mT)


def test_three_variables_by_hand():
    p = np.arange(1, 25).reshape(2, 3, 4) / 300
    table = JointTable(p, ["a", "b", "c"])
    np.testing.assert_allclose(table.marginal("c", "a").probabilities, p.sum(1).T)
    np.testing.assert_allclose(table.condition(b=1).probabilities, p[:, 1] / p[:, 1].sum())
    np.testing.assert_allclose(table.conditional("b"), (p / p.sum((0, 2), keepdims=True)).transpose(1, 0, 2))
    np.testing.assert_allclose(
        table.expectation(lambda a, b, c: a * c - b), sum(p[i, j, k] * (i * k - j) for i, j, k in np.ndindex(p.shape))
    )


def test_values_without_an_order_are_pushed_forward_too():
    image = WEATHER.pushforward(kind=lambda rain, wet: rain if wet else 0)
    assert dict(zip(image.values["kind"], image.probabilities.tolist(), strict=True)) == pytest.approx(
        {0: 0.4, "yes": 0.1, "no": 0.5}
    )


def test_gradients_reach_the_probabilities():
    logits = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    table = JointTable(logits.softmax(0).reshape(2, 2), ["x", "y"])
    (slope,) = torch.autograd.grad(table.condition(y=1).expectation(lambda x: x), logits)
    torch.testing.assert_close(slope, torch.tensor([0.0, -0.25, 0.0, 0.25], dtype=torch.float64))


def test_between_points_of_a_grid_a_density_is_interpolated():
    x = torch.linspace(0, 1, 11, dtype=torch.float64)
    density = GridDensity.of(lambda x, y: x + y, x=x, y=x)
    torch.testing.assert_close(density.condition(y=0.25).values, (x + 0.25) / 0.75)
    assert float(density.expectation(lambda x, y: (x < 2).double())) == pytest.approx(1)
