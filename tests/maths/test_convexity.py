"""Counterexamples to convexity: that they are some, where they are needed, and what is refused."""

import math

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths import convexity
from gradlab.nn import losses

LINE = torch.linspace(-2, 2, 81, dtype=torch.float64)[:, None]
PLANE = torch.randn(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(
    "function",
    [
        torch.exp,
        torch.square,
        lambda x: x,
        torch.abs,
        lambda x: x * 1e6,
        lambda x: x + 1e9,
        torch.nn.functional.softplus,
    ],
)
def test_convex_functions_have_no_counterexample(function):
    assert convexity.convexity_counterexample(lambda x: function(x).sum(-1), LINE) is None


@pytest.mark.parametrize(
    "function", [torch.sin, torch.tanh, lambda x: -x.abs(), lambda x: x**3, lambda x: (x - 0.2).abs() ** 0.9]
)
def test_others_have_one_that_is_one(function):
    found = convexity.convexity_counterexample(lambda x: function(x).sum(-1), LINE)
    mix = found.share * found.a + (1 - found.share) * found.b
    torch.testing.assert_close(found.mix, mix)
    level = found.share * function(found.a) + (1 - found.share) * function(found.b)
    assert (function(mix) - level).item() == pytest.approx(found.excess)
    assert found.excess > 0
    assert -2 <= found.mix.item() <= 2


def test_a_dent_that_is_a_hundredth_wide_is_found():
    def dented(x):
        return x.square().sum(-1) - 1e-3 * torch.exp(-((x[:, 0] - 0.7) ** 2) / 2e-5)

    found = convexity.convexity_counterexample(dented, LINE)
    assert abs(found.mix.item() - 0.7) < 0.05


def test_losses_are_convex_in_their_predictions_and_not_in_weights_of_two_layers():
    targets = torch.tensor([1, 0])

    def of_logits(x):
        return losses.cross_entropy(x, targets[:1].expand(len(x)), reduction="none")

    assert convexity.convexity_counterexample(of_logits, PLANE) is None
    two_layers = convexity.convexity_counterexample(lambda w: (w[:, 0] * w[:, 1] - 1).square(), PLANE)
    assert two_layers is not None


def test_infinite_values_are_outside_of_the_domain():
    """-log x is convex where it is defined, and +∞ elsewhere keeps it so."""

    def barrier(x):
        return torch.where(x > 0, -x.log(), math.inf).sum(-1)

    assert convexity.convexity_counterexample(barrier, LINE) is None


def test_two_discs_are_no_convex_set_and_their_intersection_is():
    def disc(centre):
        return lambda x: (x - torch.tensor([centre, 0.0]).double()).norm(dim=-1) <= 1

    left, right = disc(-0.6), disc(0.6)
    assert convexity.set_counterexample(left, PLANE) is None
    assert convexity.set_counterexample(lambda x: left(x) & right(x), PLANE) is None
    found = convexity.set_counterexample(lambda x: left(x) | right(x), PLANE)
    ends = torch.stack([found.a, found.b])
    assert (left(ends) | right(ends)).all()
    assert not (left(found.mix[None]) | right(found.mix[None]))


def test_descents_of_a_function_with_two_valleys_end_in_both():
    starts = torch.tensor([[-0.7], [0.6]], dtype=torch.float64)
    _, heights = convexity.local_minima(lambda x: (x**4 - x**2 + 0.2 * x).sum(-1), starts)
    assert heights[1] - heights[0] > 0.2


def test_the_curvature_of_the_log_of_a_sum_of_exponentials_is_not_negative():
    curvature = convexity.smallest_curvature(lambda x: x.logsumexp(-1), PLANE[:20])
    assert curvature.abs().max() < 1e-12  # along (1, 1) it is a line


def test_what_cannot_be_asked_is_told():
    with pytest.raises(GradlabError, match="Points are rows, at least two"):
        convexity.convexity_counterexample(torch.sum, torch.zeros(3))
    with pytest.raises(GradlabError, match="needs at least two points of the set, and 0 are in it"):
        convexity.set_counterexample(lambda x: x[:, 0] > 9, LINE)
    with pytest.raises(GradlabError, match="there are 2 points and 3 weights"):
        convexity.jensen_gap(lambda x: x[..., 0], torch.zeros(2, 1), torch.full((3,), 1 / 3))
    with pytest.raises(GradlabError, match=r"weights: probabilities must sum to 1, and these sum to 1.5"):
        convexity.jensen_gap(lambda x: x[..., 0], torch.zeros(2, 1), torch.tensor([1.0, 0.5]))


def test_points_may_be_arrays():
    points = np.linspace(-1.0, 1.0, 9)[:, None]
    assert convexity.convexity_counterexample(bowl, points) is None
    assert convexity.set_counterexample(convexity.below_set(bowl, 0.5), points) is None
    assert float(convexity.jensen_gap(bowl, points[[0, -1]], [0.5, 0.5])) == 1
    assert (convexity.smallest_curvature(bowl, points) == 2).all()
    assert convexity.local_minima(bowl, points[::4])[1].max() < 1e-12


def bowl(x):
    return x.square().sum(-1)
