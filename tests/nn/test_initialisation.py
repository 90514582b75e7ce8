from math import sqrt

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import PReLU, ShapeError
from gradlab.nn.initialisation import (
    fans,
    gain_of,
    he_,
    normal_,
    orthogonal_,
    uniform_,
    variance_through,
    xavier_,
    zeros_,
)

RANDOM = [uniform_, normal_, xavier_, he_, orthogonal_]


@pytest.mark.parametrize("fill", RANDOM)
def test_a_generator_decides_the_numbers_and_nothing_else_moves(fill):
    state = torch.random.get_rng_state()
    first, second, other = (
        fill(torch.empty(4, 3), generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("fill", [zeros_, *RANDOM])
def test_parameters_are_filled_in_place(fill):
    weight = nn.Parameter(torch.full((2, 3, 2), 7.0))
    assert fill(weight) is weight
    assert weight.is_leaf
    assert not (weight == 7).any()
    assert fill(torch.empty(0, 3)).shape == (0, 3)
    assert fill(torch.empty(3, 0)).shape == (3, 0)


def test_rotations_in_half_precision():
    w = orthogonal_(torch.empty(4, 4, dtype=torch.bfloat16)).float()
    assert_close(w @ w.T, torch.eye(4), atol=0.03, rtol=0)


def test_normal_numbers_of_one_size_fit_one_width():
    # E72: a standard deviation of 0.1 lets 20 layers of tanh with 10 units die, and saturates those with 1000.
    def left(width):
        torch.manual_seed(0)
        return variance_through(lambda w: normal_(w, std=0.1), torch.tanh, 20, width)[-1].tanh().sqrt().item()

    assert left(10) < 1e-8
    assert 0.05 < left(100) < 0.4
    assert left(1000) > 0.8


def test_fifty_layers_of_relu():
    # E72: He keeps the signal, 1/√n does not.
    assert 0.05 < variance_through(he_, torch.relu, width=400)[-1] < 20
    assert variance_through(xavier_, torch.relu, width=400)[-1] < 1e-13


def test_large_weights_saturate_tanh():
    x = torch.randn(200, 100)

    def slope(std):
        return (1 - torch.tanh(x @ normal_(torch.empty(100, 100), std=std)) ** 2).mean().item()

    assert slope(10.0) < 0.02
    assert slope(sqrt(1 / 100)) > 0.5


def test_torchs_own_linear_layer_is_neither_he_nor_xavier():
    weight = nn.Linear(1000, 500).weight
    assert weight.std().item() * sqrt(1000) == pytest.approx(0.577, abs=0.01)
    assert he_(weight).std().item() * sqrt(1000) == pytest.approx(1.414, abs=0.02)
    assert xavier_(weight).std().item() * sqrt(1000) == pytest.approx(1.155, abs=0.02)


def test_the_window_of_a_convolution_counts():
    assert fans(nn.Conv2d(3, 8, 5).weight) == (75, 200)
    assert fans(nn.Linear(3, 8).weight) == (3, 8)


def test_gains():
    assert gain_of("identity") == pytest.approx(nn.init.calculate_gain("linear"))
    assert gain_of("relu") == pytest.approx(nn.init.calculate_gain("relu"))
    assert gain_of(nn.LeakyReLU(0.3)) == pytest.approx(nn.init.calculate_gain("leaky_relu", 0.3))
    assert gain_of(PReLU(init=0.3)) == pytest.approx(gain_of(nn.LeakyReLU(0.3)), rel=1e-6)
    assert gain_of("step") == pytest.approx(sqrt(2))
    z = torch.randn(1_000_000)
    for name, function in {"tanh": torch.tanh, "gelu": nn.functional.gelu, "sigmoid": torch.sigmoid}.items():
        assert gain_of(name) == pytest.approx(function(z).square().mean().item() ** -0.5, rel=0.01)
    with pytest.raises(GradlabError, match=r"There is no block 'activation\.rleu'\. Did you mean 'activation\.relu'"):
        gain_of("rleu")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform_(torch.empty(2), 1.0, -1.0), "init.uniform: a must not be larger than b, got 1.0 and -1.0."),
        (lambda: normal_(torch.empty(2), std=-1.0), "init.normal: std must be float ≥ 0, got -1.0."),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, message):
    with pytest.raises(GradlabError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("fill", [xavier_, he_])
def test_another_distribution_is_refused(fill):
    with pytest.raises((GradlabError, TypeCheckError), match="'gauss'"):  # the latter while annotations are checked
        fill(torch.empty(2, 2), distribution="gauss")


@pytest.mark.parametrize("fill", [xavier_, he_, orthogonal_])
def test_a_vector_has_no_inputs_to_count(fill):
    with pytest.raises(ShapeError, match=r"tensor must have shape \(units, inputs, …window\), got \(3,\)"):
        fill(torch.empty(3))
