"""Normal variables, their moments and limits: refusals, batches, arrays, and singular cases beside SciPy."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from gradlab.errors import GradlabError
from gradlab.maths.markov import NormalKernel
from gradlab.maths.probability import (
    Normal,
    by_parts,
    isserlis,
    kolmogorov_distance,
    ky_fan_distance,
    levy_distance,
    lp_error,
    normal_mean,
    pairings,
    probability_apart,
    running_mean,
    typewriter,
    walk_table,
)
from gradlab.maths.probability.convergence import sweep


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Normal([0.0, 0.0], [[1.0, 0.5], [0.2, 1.0]]), "not symmetric: its entry 0, 1 is 0.5, and 1, 0 is 0.2"),
        (
            lambda: Normal([0.0, 0.0], [[1.0, float("nan")], [float("nan"), 1.0]]),
            "the entry 0, 1 of the covariance",
        ),
        (lambda: Normal([0.0, 0.0], [[1.0]]), "a mean of 2 entries needs a covariance of (2, 2), got (1, 1)"),
        (lambda: Normal([0.0]), "a covariance or a root of one, and not both"),
        (lambda: Normal([0.0], [[1.0]], root=[[1.0]]), "and not both"),
        (lambda: Normal([0.0, 0.0], torch.ones(2, 2)).density(torch.zeros(2)), "rank 1 of 2, so there is no density"),
        (lambda: Normal([0.0, 0.0], torch.eye(2)).condition([2], [0.0]), "numbers from 0 to 1, got [2]"),
        (lambda: Normal([0.0, 0.0], torch.eye(2)).marginal([1, 1]), "different numbers"),
        (lambda: Normal(torch.zeros(3), torch.ones(3, 3)).condition([0, 1], [1.0, 2.0]), "cannot occur together"),
        (lambda: isserlis(torch.eye(2), [0, 2]), "indices are from 0 to 1, got [0, 2]"),
        (lambda: normal_mean(lambda x: x, Normal(torch.zeros(9), torch.eye(9))), "too many points"),
        (lambda: normal_mean(lambda x: x, Normal(torch.zeros(2, 1), torch.eye(1))), "not a batch"),
        (lambda: lp_error(torch.zeros(2), torch.zeros(2), 0.5), "at least 1, got 0.5"),
        (lambda: kolmogorov_distance(torch.zeros(2), std=0.0), "std must be positive"),
        (lambda: typewriter(-1, torch.zeros(1)), "begins with n = 0, got -1"),
        (lambda: walk_table(8), "1 to 7 steps, got 8"),
        (lambda: Normal([0, 0], [[1.0, 0.0], [0.0, -1.0]]), "its entry 1, 1 is -1, and a variance is never negative"),
        (lambda: Normal([0, 0], [[1.0, 2.0], [2.0, 1.0]]), "its entry 0, 1 is 2, and with these variances it is 1 at"),
        (lambda: Normal([0] * 3, [[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]), "do not go together"),
        (lambda: Normal([0.0, math.nan], torch.eye(2)), "[0.0, nan] has an entry that is no finite number"),
        (lambda: Normal([0, 0], torch.eye(2)).log_density(torch.zeros(3)), "points have 2 entries, got the shape (3,)"),
        (lambda: Normal([0, 0], torch.eye(2)).affine([[1.0]]), "has as many columns, got (1, 1)"),
        (lambda: Normal([0, 0], torch.eye(2)).condition([0], [0.0, 1.0]), "1 coordinates need a value each"),
        (lambda: Normal([0, 0], torch.eye(2)).add_independent(Normal([0], [[1.0]])), "have no sum"),
        (lambda: isserlis([[1.0, 2.0], [0.0, 1.0]], [0, 1]), "isserlis: the covariance is not symmetric"),
        (lambda: by_parts(lambda x: x[..., 0], [[1.0]], 1), "the index is from 0 to 0, got 1"),
    ],
)
def test_what_is_refused_is_named(build, message):
    with pytest.raises(GradlabError) as error:
        build()
    assert message in str(error.value)


def random_covariance(rng, *shape):
    root = rng.normal(size=(*shape, shape[-1]))
    return root @ root.swapaxes(-1, -2)


def test_batches_are_as_one_by_one(rng):
    mean, covariance, x = rng.normal(size=(4, 3)), random_covariance(rng, 4, 3), rng.normal(size=(4, 3))
    batch = Normal(mean, covariance)
    densities = [multivariate_normal(m, c).pdf(p) for m, c, p in zip(mean, covariance, x, strict=True)]
    np.testing.assert_allclose(batch.density(torch.from_numpy(x)), densities)
    known = batch.condition([0, 2], x[:, [0, 2]])
    for i in range(4):
        alone = Normal(mean[i], covariance[i]).condition([0, 2], x[i, [0, 2]])
        torch.testing.assert_close((known.mean[i], known.covariance[i]), (alone.mean, alone.covariance))
    assert batch.sample(5).shape == (5, 4, 3)


def test_what_is_known_for_certain_has_no_variance_left():
    twice = Normal([0.0], [[1.7]]).affine([[1.0], [0.3]])
    left = twice.condition([1], [0.15])
    torch.testing.assert_close(left.mean, torch.tensor([0.5], dtype=torch.float64))
    assert left.covariance.item() == 0
    assert torch.equal(left.sample(3), left.mean.expand(3, 1))
    same = Normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    assert same.affine([[0.1, -0.1]], [2.0]).sample(2).tolist() == [[2.0], [2.0]]


def test_gradients_reach_mean_and_covariance():
    mean = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    root = torch.tensor([[1.0, 0.0], [0.5, 2.0]], dtype=torch.float64, requires_grad=True)
    x = torch.ones(2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda m, r: Normal(m, r @ r.mT).log_density(x), (mean, root))
    assert torch.autograd.gradcheck(lambda m, r: Normal(m, r @ r.mT).condition([0], [1.0]).mean, (mean, root))
    sample = Normal(mean, root=root).sample(3, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.grad(sample.sum(), mean)[0].tolist() == [3.0, 3.0]


def test_numbers_of_pairings():
    assert [sum(1 for _ in pairings(n)) for n in range(9)] == [1, 0, 1, 0, 3, 0, 15, 0, 105]


def test_a_high_moment_takes_no_time():
    assert float(isserlis(torch.eye(1, dtype=torch.float64), [0] * 20)) == 654_729_075


def test_isserlis_takes_arrays_and_batches(rng):
    covariance = random_covariance(rng, 5, 2)
    s = covariance
    expected = s[:, 0, 0] * s[:, 1, 1] + 2 * s[:, 0, 1] ** 2
    found = isserlis(covariance, [0, 1, 1, 0])
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected)


def test_by_parts_of_a_product_is_isserlis():
    covariance = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=torch.float64)
    got = by_parts(lambda x: x[..., 1] ** 3, covariance, 0)
    torch.testing.assert_close(got, isserlis(covariance, [0, 1, 1, 1]))


def test_levys_distance_by_hand():
    """Between 0 and 1 for sure, against a coin: the graphs are ½ apart over a length of 1."""
    assert float(levy_distance(torch.tensor([0.0]), torch.tensor([0.0, 1.0]))) == pytest.approx(0.5)
    assert float(levy_distance(torch.tensor([0.0]), torch.tensor([5.0]))) == pytest.approx(1)


def test_sweeps_follow_each_other():
    assert [sweep(n) for n in range(21)] == [(k, j) for k in range(1, 7) for j in range(k)]


def test_running_means_far_from_zero_keep_their_digits(rng):
    x = 1e8 + rng.normal(size=1000)
    mean, error = running_mean(x)
    np.testing.assert_allclose(error[-1], x.std(ddof=1) / np.sqrt(1000), rtol=1e-6)
    np.testing.assert_allclose(mean[-1], x.mean(), rtol=1e-15)


def test_points_may_be_arrays_and_lists():
    normal, point = Normal([0.0, 1.0], [[2.0, 1.0], [1.0, 1.0]]), [0.3, 0.4]
    for function in (normal.log_density, normal.density, normal.moment_generating):
        wanted = function(torch.tensor(point, dtype=torch.float64))
        assert function(point) == function(np.array(point)) == wanted
    walk = NormalKernel([[2.0]])
    assert walk.density(np.zeros((1, 1)), [[1.0]]) == walk.density(torch.zeros(1, 1), torch.ones(1, 1))
    with pytest.raises(GradlabError, match="points have 2 entries, got the shape"):
        normal.moment_generating([1.0, 2.0, 3.0])


def test_variables_on_outcomes_may_be_lists():
    x, y = [0.0, 3.0], [0.0, 1.0]
    assert lp_error(x, y, 1) == 1
    assert probability_apart(x, y, 0.5) == 0.5
    assert ky_fan_distance(x, y) == 0.5
    assert levy_distance([0.0], [0.3]) == pytest.approx(0.3)
