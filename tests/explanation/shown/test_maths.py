"""What the pictures of tensors, slopes, kernels and networks claim is so."""

import math

import numpy as np
import pytest
import torch

from gradlab.explanation.picture import figure_of, figure_page
from gradlab.maths.growth import growth_exponent

NAMES = [
    *("softmax-temperature", "activations", "position-codes", "nn-2-5-1", "taylor-polynomials", "gradient-field"),
    *("nadaraya-watson", "random-features-error", "performer-error"),
]


def array(values):
    return torch.as_tensor(values).double().numpy()


@pytest.fixture(scope="module")
def drawn():
    return {name: figure_of(name)() for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_it_stands_in_a_page(drawn, name):
    assert drawn[name].note in figure_page(name, drawn[name]).replace("&#x27;", "'")


def test_softmax_at_its_temperatures(drawn):
    shown = [array(trace["y"]) for trace in drawn["softmax-temperature"].traces]
    assert all(weights.sum() == pytest.approx(1) for weights in shown)
    largest = [weights[0] for weights in shown]
    assert largest == sorted(largest, reverse=True)
    assert largest[0] == pytest.approx(1, abs=1e-6)
    assert [trace["visible"] for trace in drawn["softmax-temperature"].traces].index(True) == 4
    assert shown[4].tolist() == pytest.approx((np.exp([2, 1, 0.5, 0, -1]) / np.exp([2, 1, 0.5, 0, -1]).sum()).tolist())


def test_polynomials_meet_the_sine_and_higher_ones_follow_further(drawn):
    sine, *polynomials, point = drawn["taylor-polynomials"].traces
    x, wanted = array(sine["x"]), array(sine["y"])
    near = np.abs(x - point["x"][0]) < 1
    errors = [np.abs(array(trace["y"])[near] - wanted[near]).max() for trace in polynomials]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4


def test_arrows_go_across_the_lines_of_equal_height(drawn):
    for arrow in drawn["gradient-field"].layout["annotations"][:64]:
        u, v = arrow["ax"] + arrow["ay"], arrow["ax"] - arrow["ay"]
        slope = np.array([0.5 * u + 2 * v, 0.5 * u - 2 * v])  # of ¼u² + v²
        step = np.array([arrow["x"] - arrow["ax"], arrow["y"] - arrow["ay"]])
        assert step / np.linalg.norm(step) == pytest.approx(-slope / np.linalg.norm(slope), abs=1e-9)


def test_the_chosen_width_has_the_least_error(drawn):
    names = [trace["name"] for trace in drawn["nadaraya-watson"].traces if "error" in trace["name"]]
    errors = [float(name.rsplit(" ", 1)[1]) for name in names]
    assert "chosen" in names[1]
    assert errors[1] == min(errors)


def test_errors_fall_with_the_root_of_the_number_of_features(drawn):
    for trace in drawn["random-features-error"].traces[::2]:
        assert growth_exponent(trace["x"], trace["y"]) == pytest.approx(-0.5, abs=0.06)
    short, both_signs, long, _ = drawn["performer-error"].traces[:4]
    assert growth_exponent(short["x"], short["y"]) == pytest.approx(-0.45, abs=0.1)
    assert all(both_signs["y"] < short["y"])
    assert all(long["y"] > 2 * short["y"])


def test_codes_of_positions_turn(drawn):
    codes = array(drawn["position-codes"].traces[0]["z"])
    assert codes[5, 0] == pytest.approx(math.sin(5), abs=1e-6)
    assert codes[5, 63] == pytest.approx(math.cos(5 / 10000 ** (62 / 64)), abs=1e-6)


def test_slopes_are_those_of_the_activations(drawn):
    for values, slopes in zip(*[iter(drawn["activations"].traces)] * 2, strict=True):
        measured = np.gradient(array(values["y"]), array(values["x"]))
        away = np.abs(array(values["x"])) > 0.05  # of kinks
        assert array(slopes["y"])[away] == pytest.approx(measured[away], abs=0.01)


def test_six_networks_are_shown(drawn):
    assert len(drawn["nn-2-5-1"].traces) == 6
    assert len({str(trace["z"]) for trace in drawn["nn-2-5-1"].traces}) == 6
