"""Networks that are computed and not learned, beside NumPy, brute force and fractions."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.maths.expressiveness.approximation import approximate, approximate_deep, interpolate
from gradlab.maths.expressiveness.exponentials import ExponentialSum, bernstein, separating
from gradlab.maths.expressiveness.modulus import modulus_of_continuity, uniform_distance
from gradlab.maths.expressiveness.piecewise import interpolating_network, piecewise_linear, relu_clamp, relu_network
from gradlab.maths.expressiveness.plane import pyramid_network
from gradlab.maths.expressiveness.polynomials import PolynomialActivation, best_polynomial, network_polynomial
from gradlab.maths.expressiveness.regions import affine_regions, kinks, most_regions, reached_regions, sampled_patterns
from gradlab.maths.expressiveness.tent import mean_distance, most_pieces, separation, tent_network


def values(network, x):
    with torch.no_grad():
        return network(torch.as_tensor(x, dtype=torch.float64)[:, None])[:, 0].numpy()


def random_network(*sizes, seed=0):
    torch.manual_seed(seed)
    layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).double()


def test_a_network_goes_through_its_points_as_numpy_does():
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.normal(size=12)), rng.normal(size=12)
    at = np.linspace(-4, 4, 301)
    assert np.allclose(values(interpolating_network(x, y), at), np.interp(at, x, y), atol=1e-12)


def test_arrays_are_answered_with_arrays():
    assert isinstance(relu_clamp(np.array([0.5, 9.0]), 0.0, 1.0), np.ndarray)
    assert piecewise_linear(np.array([2.0]), [0.0, 1.0], [0.0, 1.0, 3.0]).tolist() == [4.0]


def test_building_a_network_draws_nothing_from_the_generator_of_torch():
    before = torch.get_rng_state()
    relu_network([0.0], [1.0, 2.0]), tent_network(3), pyramid_network()
    assert torch.equal(before, torch.get_rng_state())


def test_a_tent_is_that_of_fractions():
    def tent(x):
        return 2 * x if x <= Fraction(1, 2) else 2 - 2 * x

    x = [Fraction(i, 37) for i in range(38)]
    wanted = x
    for _ in range(5):
        wanted = [tent(v) for v in wanted]
    assert np.allclose(values(tent_network(5), [float(v) for v in x]), [float(v) for v in wanted], atol=1e-12)


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_a_folded_tent_has_more_pieces_than_any_network_of_few_layers(layers):
    assert most_pieces(layers, 2**layers) < 2 ** (layers**2 + 2)
    assert separation(layers**2 + 2, most_pieces(layers, 2**layers)) > 1 / 32


def test_the_distance_of_networks_is_the_exact_area():
    level = relu_network([0.5], [0.0, 0.0], 0.5)
    assert mean_distance(tent_network(6), level) == pytest.approx(1 / 4, abs=1e-12)
    assert mean_distance(tent_network(1), tent_network(2)) == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.parametrize("sizes", [(2, 6, 1), (2, 5, 5, 1), (2, 4, 4, 4, 2)])
def test_regions_are_all_that_a_dense_sample_shows(sizes):
    network = random_network(*sizes)
    regions = affine_regions(network, [-1.5, -1.5], [1.5, 1.5])
    grid = torch.linspace(-1.5, 1.5, 500, dtype=torch.float64)
    seen = sampled_patterns(network, torch.cartesian_prod(grid, grid))
    patterns = {region.pattern for region in regions}
    assert seen <= patterns
    assert len(patterns) == len(regions) <= most_regions(2, sizes[1:-1])
    assert len(seen) >= 0.8 * len(patterns)  # the others are slivers


def test_a_slice_of_many_inputs_is_that_of_the_network_behind_an_affine_map():
    network, draw = random_network(5, 6, 6, 1), torch.Generator().manual_seed(1)
    origin, directions = (torch.randn(n, 5, generator=draw, dtype=torch.float64) for n in (1, 2))
    inner = nn.Linear(2, 5).double()
    with torch.no_grad():
        inner.weight.copy_(directions.T)
        inner.bias.copy_(origin[0])
    composed = nn.Sequential(inner, *network)
    direct = affine_regions(network, [-2, -2], [2, 2], origin[0], directions)
    assert {r.pattern for r in direct} == {r.pattern for r in affine_regions(composed, [-2, -2], [2, 2])}


def test_kinks_of_one_input_are_where_units_are_zero():
    network = random_network(1, 7, 1)
    wanted = -network[0].bias / network[0].weight[:, 0]
    assert np.allclose(kinks(network, -1e6, 1e6), np.sort(wanted.detach().numpy()))


def test_bounds_of_regions_by_hand():
    assert [most_regions(2, [n, n]) for n in (4, 6, 8)] == [121, 484, 1369]
    assert [reached_regions(2, [n, n]) for n in (4, 6, 8)] == [44, 198, 592]


def test_a_square_root_needs_the_distance_of_its_steepest_place():
    assert modulus_of_continuity(torch.sqrt, 0.0, 1.0, 0.09) == pytest.approx(0.3, abs=1e-3)
    assert uniform_distance(torch.sqrt, 0.0, 1.0, 0.3) <= 0.09 < 2 * uniform_distance(torch.sqrt, 0.0, 1.0, 0.3)


def test_an_approximation_is_as_near_as_was_asked_for_and_says_how_near():
    near = approximate(torch.exp, -1.0, 1.0, 0.01)
    x = np.random.default_rng(0).uniform(-1, 1, 5000)
    assert np.abs(values(near.network, x) - np.exp(x)).max() <= near.error * (1 + 1e-2) <= 0.01


def test_depth_and_width_come_to_the_same_points():
    x = np.linspace(0, 3, 31)
    deep, wide = approximate_deep(torch.cos, 0.0, 3.0, 30), interpolate(torch.cos, 0.0, 3.0, 30)
    assert np.allclose(values(deep.network, x), values(wide.network, x), atol=1e-9)
    assert max(layer.out_features for layer in deep.network if isinstance(layer, nn.Linear)) == 2


def test_the_best_polynomials_of_powers_are_known():
    assert best_polynomial(lambda x: x**3, 2).error == pytest.approx(1 / 4, abs=1e-6)  # 2⁻ⁿ⁺¹, by Chebyshev
    assert best_polynomial(lambda x: x**5, 4).error == pytest.approx(1 / 16, abs=1e-6)
    assert best_polynomial(lambda x: 1 + x**2, 2).error == pytest.approx(0, abs=1e-12)


def test_a_wide_quadratic_network_does_not_beat_the_bound():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(1, 64), PolynomialActivation([0.0, 1.0, 1.0]), nn.Linear(64, 1)).double()
    x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    with torch.no_grad():
        features = network[:2](x)
        fitted = torch.linalg.lstsq(features, x.abs(), driver="gelsd").solution
        error = float((features @ fitted - x.abs()).abs().max())
    assert error >= best_polynomial(torch.abs, 2).bound == pytest.approx(0.125, abs=1e-9)
    assert network_polynomial(network).shape == (1, 3)


def test_a_bernstein_polynomial_in_exponentials_keeps_exponentials():
    x = torch.linspace(0, 1, 50, dtype=torch.float64)
    near = bernstein(lambda x: 2 - 3 * torch.exp(x), 5)(x)  # affine in u: Bernstein's polynomials keep these
    assert torch.allclose(near, 2 - 3 * torch.exp(x), atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: relu_clamp(torch.ones(1), 2.0, 1.0), "low must be less than high"),
        (lambda: relu_network([0.0, 0.0], [1.0, 2.0, 3.0]), "breakpoints must increase, but number 1 is 0 after 0"),
        (lambda: relu_network([[0.0]], [1.0]), "must be a list of numbers"),
        (lambda: relu_network([0.0], [1.0]), "1 slopes for 1 breakpoints"),
        (lambda: interpolating_network([0, 1], [1]), "one y for each x"),
        (lambda: uniform_distance(torch.sign, -1.0, 1.0, 0.5), "it has a jump"),
        (lambda: uniform_distance(torch.sin, 0.0, 1.0, 0.0), "error must be larger than 0"),
        (lambda: modulus_of_continuity(torch.sin, 0.0, 1.0, 1e-9), "less than that of the points"),
        (lambda: interpolate(torch.sin, 0.0, 1.0, 0), "pieces must be at least 1"),
        (lambda: interpolate(torch.sin, 1.0, 0.0, 3), "low < high"),
        (lambda: approximate_deep(torch.sin, 0.0, 1.0, 0), "pieces must be at least 1"),
        (lambda: affine_regions(nn.Sequential(nn.Linear(1, 2), nn.Tanh()), [0], [1]), "Tanh is neither"),
        (lambda: affine_regions(nn.Sequential(nn.Linear(3, 2)), [0, 0], [1, 1]), "one or two directions"),
        (lambda: affine_regions(nn.Sequential(nn.Linear(1, 2)), [1], [0]), "each low below its high"),
        (lambda: affine_regions(nn.Sequential(nn.ReLU()), [1], [0]), "no dense layer"),
        (lambda: tent_network(0), "folds must be at least 1"),
        (lambda: most_pieces(3, 2), "at least one unit in each"),
        (lambda: PolynomialActivation([]), "at least one coefficient"),
        (lambda: best_polynomial(torch.abs, -1), "must not be negative"),
        (
            lambda: network_polynomial(nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))),
            "PolynomialActivation",
        ),
        (lambda: ExponentialSum(torch.ones(2), torch.ones(2)), "exponents \\(terms, d\\)"),
        (lambda: separating(torch.ones(2), torch.ones(2)), "the same"),
        (lambda: bernstein(torch.sin, 0), "degree must be at least 1"),
        (lambda: bernstein(torch.sin, 3, 1.0, 0.0), "low < high"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(wrong, says):
    with pytest.raises(GradlabError, match=says):
        wrong()
