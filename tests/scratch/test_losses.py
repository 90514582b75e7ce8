from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scratch_helpers import agree, normal, positive, right
from torch.nn import functional as F

from gradlab.scratch import Tensor, losses

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 4))
REGRESSION = {
    "squared": (losses.squared, lambda y, t: F.mse_loss(y, t) / 2),
    "absolute": (losses.absolute_error, F.l1_loss),
    "huber": (lambda y, t: losses.huber(y, t, 0.7), lambda y, t: F.huber_loss(y, t, delta=0.7)),
    "binary": (
        lambda y, t: losses.binary_cross_entropy(y, (t > 0) * 1.0),
        lambda y, t: F.binary_cross_entropy_with_logits(y, (t > 0).double()),
    ),
    "soft binary": (
        lambda y, t: losses.binary_cross_entropy(y, abs(t)),
        lambda y, t: F.binary_cross_entropy_with_logits(y, abs(t)),
    ),
    "poisson": (
        lambda y, t: losses.poisson(y, np.floor(t * t)),
        lambda y, t: F.poisson_nll_loss(y, torch.floor(t * t)),
    ),
}


@pytest.mark.parametrize("name", sorted(REGRESSION))
@given(shape=SIZES)
def test_a_loss_of_numbers(name, shape):
    mine, theirs = REGRESSION[name]
    target = normal(*shape, seed=1)
    # The kinks of absolute and Huber: errors of 0 and ±0.7.
    prediction = target + normal(*shape)
    error = np.abs(prediction - target)
    prediction = np.where(np.abs(error - 0.7) < 1e-3, target + 0.5, prediction)
    right(lambda y: mine(y, target), prediction)
    agree(lambda y: mine(y, target), lambda y: theirs(y, torch.tensor(target)), prediction)


@given(shape=SIZES, smoothing=st.floats(0, 1), reduction=st.sampled_from(["mean", "sum", "none"]))
def test_cross_entropy(shape, smoothing, reduction):
    classes = np.random.default_rng(list(shape)).integers(0, shape[1], shape[0])
    torchs = partial(F.cross_entropy, label_smoothing=smoothing, reduction=reduction)
    right(lambda z: losses.cross_entropy(z, classes, smoothing, reduction), normal(*shape))
    agree(
        lambda z: losses.cross_entropy(z, classes, smoothing, reduction),
        lambda z: torchs(z, torch.tensor(classes)),
        normal(*shape),
    )
    leaves = normal(*shape), positive(*shape, seed=1)
    right(lambda z, y: losses.soft_cross_entropy(z, y, smoothing, reduction), *leaves)
    agree(lambda z, y: losses.soft_cross_entropy(z, y, smoothing, reduction), torchs, *leaves)


@given(shape=SIZES)
def test_a_likelihood_of_normal_noise(shape):
    leaves = normal(*shape), normal(*shape, seed=1), positive(*shape)
    right(losses.gaussian, *leaves)
    agree(losses.gaussian, lambda m, y, s: F.gaussian_nll_loss(m, y, s**2, full=True), *leaves)


@given(shape=SIZES)
def test_a_likelihood_of_counts(shape):
    counts = np.floor(5 * positive(*shape))
    agree(
        lambda eta: losses.poisson(eta, counts, full=True, reduction="none"),
        lambda eta: -torch.distributions.Poisson(eta.exp()).log_prob(torch.tensor(counts)),
        normal(*shape),
    )


def test_the_gradient_of_cross_entropy_is_the_probability_minus_one_hot():
    z, classes = Tensor(normal(3, 4)), np.array([2, 0, 3])
    losses.cross_entropy(z, classes).backward()
    probability = np.exp(z.value) / np.exp(z.value).sum(1, keepdims=True)
    assert np.allclose(z.grad, (probability - np.eye(4)[classes]) / 3, atol=1e-12)


def test_losses_of_hopeless_logits_are_large_and_finite():
    assert losses.cross_entropy(Tensor([[0.0, 5000.0]]), np.array([0])).value == 5000
    assert losses.binary_cross_entropy(Tensor([-5000.0, 5000.0]), np.array([1.0, 0.0])).value == 5000
