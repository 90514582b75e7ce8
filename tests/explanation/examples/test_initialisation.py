"""The numbers of the worked examples, computed again without the library."""

import re

import numpy as np
import pytest
import torch

from gradlab.explanation.walk import Walk


def values(name):
    return [step.values for step in Walk.of(name).steps]


def test_zeros_leave_a_gradient_to_the_last_bias_alone():
    loss, gradients, bias, rows = values("zero-init")
    assert loss == "loss = 5"  # the mean of 1² and 3²
    assert gradients.endswith("0.weight: 0, 0.bias: 0, 2.weight: 0, 2.bias: 4")
    assert bias == "-4"  # 2/2 · ((0 - 1) + (0 - 3))
    first, *others = re.findall(r"(?:: |; )([^;]+)", rows)
    assert others == [first] * 2


def test_the_rows_of_sigmoid_units_move_together_as_in_numpy():
    x, t = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([[1.0], [3.0]])
    w1, b1, w2, b2 = np.zeros((3, 2)), np.zeros(3), np.zeros((1, 3)), np.zeros(1)
    for _ in range(3):
        h = 1 / (1 + np.exp(-(x @ w1.T + b1)))
        d2 = 2 * (h @ w2.T + b2 - t) / 2
        d1 = d2 @ w2 * h * (1 - h)
        w1, b1, w2, b2 = w1 - d1.T @ x / 2, b1 - d1.sum(0) / 2, w2 - d2.T @ h / 2, b2 - d2.sum(0) / 2
    assert values("zero-init")[-1].startswith(f"rows of W₁: {w1[0, 0]:.3g}, {w1[0, 1]:.3g};")


def test_a_small_deviation_kills_signals_in_narrow_layers_alone():
    sizes = [float(x) for x in re.findall(r"= [\d.]+, ([\d.e-]+)", values("small-gaussian-init")[1])]
    for size, width, least, most in zip(sizes, (10, 100, 1000), (1e-13, 0.1, 0.8), (1e-9, 0.25, 0.9), strict=True):
        assert least < size < most, width
        rng = np.random.default_rng(0)
        h = rng.normal(size=(4, width))
        for _ in range(20):
            h = np.tanh(h @ rng.normal(0, 0.1, (width, width)))
        assert least < np.sqrt((h**2).mean()) < most


def test_large_weights_saturate_most_units():
    slope, *rows, passed = values("large-init")
    assert slope == f"at z = 5: {1 / np.cosh(5) ** 2:.2g}"
    shares = [int(re.search(r"(\d+)%", row)[1]) for row in rows]
    assert shares[0] == 0
    assert 70 < shares[1] < 80 < 95 < shares[2]
    # Of a normal z of deviation s √n, so many have |tanh z| > √0.99.
    edge = np.arctanh(np.sqrt(0.99))
    wanted = 100 * (1 - torch.erf(torch.tensor(edge / (10 * np.sqrt(100)) / np.sqrt(2))))
    assert shares[2] == pytest.approx(float(wanted), abs=2)
    assert len(passed.split(";")) == 3


def test_uniform_weights_have_a_third_for_their_variance():
    spread, signal, sizes = values("uniform-init")
    least, largest, variance = (float(x) for x in re.findall(r"-?\d\.\d+", spread))
    assert -1 <= least < -0.99 < 0.99 < largest <= 1
    assert variance == pytest.approx(1 / 3, abs=0.01)
    measured, wanted = (float(x) for x in re.findall(r"\d\.\d+", signal))
    assert wanted == pytest.approx((784 / 45) ** 0.5, abs=0.005)
    assert measured == pytest.approx(wanted, rel=0.2)
    assert sizes == "0.577 and 0.050"


def test_walks_draw_nothing_from_the_generator_of_torch():
    before = torch.get_rng_state()
    for name in ("zero-init", "small-gaussian-init", "large-init", "uniform-init", "dropout-code"):
        values(name)
    assert torch.equal(before, torch.get_rng_state())
