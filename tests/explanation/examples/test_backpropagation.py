"""The worked examples of backpropagation have the right numbers: by differences, by hand, and by PyTorch."""

import math
import re

import numpy as np
import pytest
import torch

from gradlab.explanation.examples import backpropagation
from gradlab.explanation.walk import Walk


def net(x, w):
    b1, b2, w11, w12, w21, w31, w32, v1, v2 = w
    hidden = 1 / (1 + math.exp(-(w11 * x[0] + w21 * x[1] + w31 * x[2] + b1)))
    return v1 * hidden + v2 * math.tanh(w12 * x[0] + w32 * x[2] + b2)


def test_the_nine_derivatives_are_those_of_differences():
    for x, _ in backpropagation.POINTS:
        wanted, h = [], 1e-6
        for i in range(9):
            up, down = list(backpropagation.START), list(backpropagation.START)
            up[i], down[i] = up[i] + h, down[i] - h
            wanted.append((net(x, up) - net(x, down)) / (2 * h))
        assert backpropagation.nine_partials(x, backpropagation.START) == pytest.approx(wanted, abs=1e-8)


def test_the_loss_and_the_step_of_the_small_network():
    steps = Walk.of("small-net-gradient").steps
    w = np.array(backpropagation.START)
    loss = sum(0.5 * (net(x, w) - y) ** 2 for x, y in backpropagation.POINTS)
    slope = sum(
        (net(x, w) - y) * np.array(backpropagation.nine_partials(x, tuple(w))) for x, y in backpropagation.POINTS
    )
    after = sum(0.5 * (net(x, w - 0.1 * slope) - y) ** 2 for x, y in backpropagation.POINTS)
    assert steps[4].values.startswith(f"L = {loss:.4f}; b₁ {slope[0]:.4f}, b₂ {slope[1]:.4f}")
    assert steps[5].values == f"L = {after:.4f}"
    assert after < loss
    assert float(steps[3].values.split()[-1]) < 1e-15


def test_the_relu_network_by_hand():
    steps = [step.values for step in Walk.of("relu-net-worked").steps]
    assert steps[0] == "before ReLU [-0.5, 2.0], h = [0.0, 2.0]; before ReLU [-1.0, 2.0], y = [0.0, 2.0]"
    assert steps[1] == "E = 4"
    assert steps[2] == "δ of the outputs = [0.0, -2.0]"
    assert steps[3] == "δ of the hidden units = [0.0, -1.0]"
    assert [float(x) for x in re.findall(r"= ([\d.]+)", steps[4])] == [0.5, 0.54, 1.02]


@pytest.fixture(scope="module")
def numpy_net():
    return Walk.of("numpy-mnist-net").steps


def test_the_numpy_network_learns_as_pytorch_does(numpy_net):
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = torch.from_numpy(x / 16), torch.from_numpy(y).long()
    rng = np.random.RandomState(1)
    w1, b1, w2, b2 = weights = [
        torch.from_numpy(rng.uniform(-1, 1, shape)).requires_grad_() for shape in ((10, 64), (10,), (10, 10), (10,))
    ]
    history = []
    for _ in range(500):
        logits = torch.relu(x[:1500] @ w1.T + b1) @ w2.T + b2
        history.append(float((logits.argmax(1) == y[:1500]).double().mean()))
        for w, slope in zip(
            weights, torch.autograd.grad(torch.nn.functional.cross_entropy(logits, y[:1500]), weights), strict=True
        ):
            w.data -= 0.1 * slope
    words = f"seed 1: {history[0]:.3f} at first, {history[100]:.3f} after 100 steps, {history[-1]:.3f} at last"
    assert words in numpy_net[1].values
    tested = torch.relu(x[1500:] @ w1.T + b1) @ w2.T + b2
    assert numpy_net[2].values.split(", ")[1] == f"{float((tested.argmax(1) == y[1500:]).double().mean()):.3f}"
