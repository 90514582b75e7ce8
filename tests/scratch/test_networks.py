"""Whole networks learn, and to what accuracy."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same
from sklearn.datasets import load_digits
from torch import nn

from gradlab.scratch import Tensor
from gradlab.scratch.losses import cross_entropy
from gradlab.scratch.networks import cnn, first_network, he, mlp, train


@pytest.fixture(scope="module")
def digits():
    """Training pictures, their classes, test pictures, their classes."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))
    x, y = data.data[order] / 16, data.target[order]
    return x[:1437], y[:1437], x[1437:], y[1437:]


def test_an_mlp_learns_the_digits(digits):
    x, y, test_x, test_y = digits
    rng = np.random.default_rng(0)
    network = mlp([64, 64, 10], rng)
    history = train(network, x, y, epochs=30, lr=3e-3, rng=rng)
    assert history[0] == pytest.approx(np.log(10), abs=1.2)
    assert history[-1] < 0.05
    assert network.accuracy(test_x, test_y) > 0.95


def test_a_cnn_learns_the_digits(digits):
    x, y, test_x, test_y = digits
    rng = np.random.default_rng(0)
    network = cnn(8, 10, rng)
    train(network, x, y, epochs=12, lr=1e-2, rng=rng)
    assert network.accuracy(test_x, test_y) > 0.95


def test_a_network_gives_what_the_same_one_in_torch_gives():
    network, x = cnn(8, 10, np.random.default_rng(0)), normal(3, 64)
    first, second, last, *biases = [torch.tensor(p.value, requires_grad=True) for p in network.parameters]
    h = torch.tensor(x).reshape(3, 1, 8, 8)
    for weight, bias in ((first, biases[0]), (second, biases[1])):
        h = nn.functional.max_pool2d(nn.functional.conv2d(h, weight, bias, padding=1).relu(), 2)
    logits = h.flatten(1) @ last.T + biases[2]
    classes = np.array([1, 7, 7])
    nn.functional.cross_entropy(logits, torch.tensor(classes)).backward()
    found = network.logits(Tensor(x))
    cross_entropy(found, classes).backward()
    same(found, logits)
    for parameter, twin in zip(network.parameters, (first, second, last, *biases), strict=True):
        same(parameter.grad, twin.grad)


def test_an_mlp_by_central_differences_and_torch():
    network, x = mlp([3, 4, 2], np.random.default_rng(0)), normal(5, 3)

    def theirs(x):
        w1, w2, b1, b2 = (torch.tensor(p.value) for p in network.parameters)
        return (x @ w1.T + b1).relu() @ w2.T + b2

    right(network.logits, x)
    agree(network.logits, theirs, x)


def test_the_first_weights_keep_the_mean_square_through_a_relu():
    rng = np.random.default_rng(0)
    h = rng.normal(size=(200, 400))
    for _ in range(10):
        h = np.maximum(h @ he(rng, 400, 400).value.T, 0)
    # The mean square behind a ReLU is half of that before it, which is twice that of its input.
    assert np.mean(h**2) == pytest.approx(1, rel=0.3)


def by_hand(x, y, rng, steps):
    """The experiment once more, with its four derivatives written out; pictures are columns."""
    w1, b1, w2, b2 = (rng.uniform(-1, 1, s) for s in ((10, x.shape[1]), (10, 1), (10, 10), (10, 1)))
    x, wanted, history = x.T, np.eye(10)[y].T, []
    for _ in range(steps):
        z = w1 @ x + b1
        a = np.maximum(z, 0)
        logits = w2 @ a + b2
        history.append(np.mean(logits.argmax(0) == y))
        weights = np.exp(logits - logits.max(0))
        error = (weights / weights.sum(0) - wanted) / len(y)
        back = (w2.T @ error) * (z > 0)
        w1, b1 = w1 - 0.1 * back @ x.T, b1 - 0.1 * back.sum(1, keepdims=True)
        w2, b2 = w2 - 0.1 * error @ a.T, b2 - 0.1 * error.sum(1, keepdims=True)
    return history, (w1, b1[:, 0], w2, b2[:, 0])


def test_the_first_network_takes_the_steps_of_the_derivatives_by_hand(digits):
    x, y, *_ = digits
    network, history = first_network(x, y, np.random.RandomState(0), steps=50)
    wanted, parameters = by_hand(x, y, np.random.RandomState(0), steps=50)
    assert history == wanted
    for parameter, other in zip(network.parameters, parameters, strict=True):
        same(parameter, other)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "before", "after_30"), [(0, 0.0769, 0.1682), (3, 0.0866, 0.2358)])
def test_the_first_network_on_mnist(seed, before, after_30):
    """The accuracies are those of the experiment as it was printed, run with these seeds."""
    folder = os.environ.get("GRADLAB_MNIST")
    if not folder:
        pytest.skip("GRADLAB_MNIST names no folder with MNIST's IDX files")
    x = read(Path(folder), "train-images-idx3-ubyte", 16).reshape(-1, 784) / 255
    y = read(Path(folder), "train-labels-idx1-ubyte", 8).astype(int)
    _, history = first_network(x, y, np.random.RandomState(seed), steps=31)
    assert history[0] == pytest.approx(before, abs=1e-4)
    assert history[30] == pytest.approx(after_30, abs=1e-3)


def read(folder, name, header):
    packed = folder / f"{name}.gz"
    content = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    return np.frombuffer(content, np.uint8, offset=header)
