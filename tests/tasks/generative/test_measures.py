"""Distances between sets of examples, judged by SciPy, scikit-learn and closed forms."""

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm
from scipy.stats import wasserstein_distance
from sklearn.neighbors import NearestNeighbors

from gradlab.tasks.generative.coverage import precision_recall
from gradlab.tasks.generative.frechet import frechet_distance, gaussian, symmetric_root
from gradlab.tasks.generative.interpolation import slerp
from gradlab.tasks.generative.wasserstein import sliced_wasserstein


@pytest.mark.parametrize(("first", "second", "dim"), [(50, 80, 3), (500, 400, 20), (30, 30, 1)])
def test_the_frechet_distance_is_that_of_scipys_square_root(first, second, dim):
    mix = torch.randn(dim, dim)
    x, y = torch.randn(first, dim) @ mix, 3 + 2 * torch.randn(second, dim)
    (m, a), (n, b) = ((p.numpy(), c.numpy()) for p, c in map(gaussian, (x, y)))
    expected = ((m - n) ** 2).sum() + np.trace(a + b - 2 * np.real(sqrtm(a @ b)))
    assert frechet_distance(x, y) == pytest.approx(expected, rel=1e-6)
    assert frechet_distance(y, x) == pytest.approx(expected, rel=1e-6)


def test_with_fewer_examples_than_dimensions_it_is_still_a_distance():
    x = torch.randn(10, 40)
    assert frechet_distance(x, x) == pytest.approx(0, abs=1e-5)
    assert frechet_distance(x, x + 1) == pytest.approx(40, rel=1e-5)


def test_far_from_zero_it_keeps_its_digits():
    x, y = torch.randn(1000, 4, dtype=torch.float64), torch.randn(1000, 4, dtype=torch.float64)
    assert frechet_distance(x + 1e5, y + 1e5) == pytest.approx(frechet_distance(x, y), rel=1e-4)


def test_a_root_times_itself_is_the_matrix():
    a = torch.randn(6, 6, dtype=torch.float64)
    torch.testing.assert_close(symmetric_root(a @ a.T) @ symmetric_root(a @ a.T), a @ a.T)


def within(points, members, k):
    """By scikit-learn: which points lie in a ball of some member."""
    radii = NearestNeighbors(n_neighbors=k + 1).fit(members).kneighbors(members)[0][:, -1]
    distances = np.linalg.norm(points[:, None] - members[None], axis=-1)
    return (distances <= radii).any(1).mean()


@pytest.mark.parametrize("k", [1, 3, 5])
def test_precision_and_recall_are_those_of_scikit_learns_neighbours(k):
    real, drawn = torch.randn(120, 3, dtype=torch.float64), 0.4 + 0.6 * torch.randn(90, 3, dtype=torch.float64)
    found = precision_recall(real, drawn, k)
    assert found.precision == pytest.approx(within(drawn.numpy(), real.numpy(), k))
    assert found.recall == pytest.approx(within(real.numpy(), drawn.numpy(), k))
    assert found.recall < found.precision  # the samples lie closer together


def test_one_mode_of_two_has_precision_and_half_the_recall():
    modes = torch.cat([torch.randn(200, 2), 50 + torch.randn(200, 2)])
    found = precision_recall(modes, torch.randn(400, 2))
    assert found.precision > 0.9
    assert 0.4 < found.recall <= 0.5


def test_on_a_line_it_is_scipys_wasserstein_distance():
    x, y = torch.randn(300, 1), 2 * torch.randn(300, 1) + 1
    expected = wasserstein_distance(x[:, 0].numpy(), y[:, 0].numpy())
    assert sliced_wasserstein(x, y) == pytest.approx(expected, rel=1e-5)


def test_moved_points_are_as_far_as_the_mean_cosine_says():
    x, moved = torch.randn(500, 2), torch.tensor([3.0, 4.0])
    assert sliced_wasserstein(x, x + moved, directions=4000) == pytest.approx(5 * 2 / np.pi, rel=0.03)


def test_a_way_on_a_sphere_turns_by_equal_angles():
    first, second = (torch.nn.functional.normalize(torch.randn(4, 10), dim=1) for _ in range(2))
    way = slerp(first, second, torch.linspace(0, 1, 7))
    torch.testing.assert_close(way[:, 0], first)
    torch.testing.assert_close(way[:, -1], second)
    torch.testing.assert_close(way.norm(dim=-1), torch.ones(4, 7))
    angles = (way[:, 1:] * way[:, :-1]).sum(-1).acos()
    torch.testing.assert_close(angles, angles[:, :1].expand_as(angles), rtol=1e-3, atol=1e-3)


def test_a_way_between_noises_that_point_alike_is_straight():
    z = torch.randn(2, 1, 3, 3)
    torch.testing.assert_close(slerp(z, 3 * z, torch.tensor([0.5]))[:, 0], 2 * z)
