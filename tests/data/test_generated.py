import numpy as np
import pytest

from gradlab.data import sources
from gradlab.registry import Part


def raw(name, seed=0, **values):
    return sources.build(sources.resolve(Part(name, values), "data"), seed)


@pytest.mark.parametrize(
    "name", ["moons", "circles", "spirals", "ring", "linear", "polynomial", "counts", "tiny-pictures"]
)
def test_as_many_examples_as_asked_for_and_a_pure_function_of_the_seed(name):
    a, b, c = raw(name, 1, examples=40), raw(name, 1, examples=40), raw(name, 2, examples=40)
    assert len(a.inputs) == 40
    assert a.fingerprint() == b.fingerprint() != c.fingerprint()


def test_circles_without_noise_lie_on_radii_one_and_a_half():
    data = raw("circles", noise=0)
    radius = np.linalg.norm(data.inputs, axis=1)
    np.testing.assert_allclose(radius, np.where(data.targets == 0, 1.0, 0.5))
    assert data.classes == ["outer", "inner"]


def test_pictures_of_four_pixels_are_told_apart_without_noise():
    data = raw("tiny-pictures", examples=30, noise=0)
    assert data.inputs.shape == (30, 1, 2, 2)
    assert len(np.unique(data.inputs.reshape(30, 4), axis=0)) == len(data.classes) == 3
    assert np.bincount(data.targets).tolist() == [10, 10, 10]


def test_the_upper_moon_is_above_the_lower_one():
    data = raw("moons", noise=0)
    assert data.inputs[data.targets == 0][:, 1].mean() > data.inputs[data.targets == 1][:, 1].mean()
    assert data.classes == ["upper", "lower"]


def test_spirals_have_equal_arms_turned_against_each_other():
    data = raw("spirals", noise=0, arms=3, examples=300, turns=1)
    assert np.bincount(data.targets).tolist() == [100, 100, 100]
    radius = np.linalg.norm(data.inputs, axis=1)
    turned = np.arctan2(data.inputs[:, 1], data.inputs[:, 0]) / (2 * np.pi) - radius - data.targets / 3
    np.testing.assert_allclose(turned, np.round(turned), atol=1e-9)


def test_the_gaussians_of_the_ring_are_where_and_as_wide_as_asked_for():
    data = raw("ring", examples=20_000, modes=5, std=0.2, radius=3)
    assert data.classes == [f"mode {i}" for i in range(5)]
    for mode in range(5):
        points, angle = data.inputs[data.targets == mode], 2 * np.pi * mode / 5
        np.testing.assert_allclose(points.mean(axis=0), [3 * np.cos(angle), 3 * np.sin(angle)], atol=0.02)
        np.testing.assert_allclose(np.cov(points.T), 0.04 * np.eye(2), atol=0.004)
        assert len(points) == pytest.approx(4000, rel=0.1)


def test_least_squares_finds_the_linear_law_to_the_level_of_its_noise():
    data = raw("linear", examples=5000, features=4, noise=0.5)
    design = np.column_stack([data.inputs, np.ones(5000)])
    _, squares, _, _ = np.linalg.lstsq(design, data.targets)
    assert abs(np.sqrt(squares[0] / 5000) - 0.5) < 0.02


def test_the_polynomial_without_noise_is_the_cubic_it_says():
    data = raw("polynomial", noise=0)
    np.testing.assert_allclose(np.polyfit(data.inputs[:, 0], data.targets, 3), [2, -1, -1, 0], atol=1e-9)


def test_counts_scatter_about_a_log_linear_law_as_a_poisson_law_has_it():
    from sklearn.linear_model import PoissonRegressor

    data = raw("counts", examples=5000, mean=6.0)
    assert (data.targets == data.targets.round()).all()
    assert data.targets.min() >= 0
    law = PoissonRegressor(alpha=0, max_iter=1000).fit(data.inputs, data.targets)
    assert np.exp(law.intercept_) == pytest.approx(6, rel=0.03)
    assert np.linalg.norm(law.coef_) == pytest.approx(0.8, rel=0.03)
    expected = law.predict(data.inputs)
    assert ((data.targets - expected) ** 2 / expected).mean() == pytest.approx(1, abs=0.05)
