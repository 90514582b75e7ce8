import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor
from gradlab.scratch.normalisation import (
    batch_norm,
    batch_norm_at_test,
    group_norm,
    layer_norm,
    rms_norm,
    running_statistics,
)

EPS = 0.3  # large enough to matter
SHAPES = [(5, 4), (3, 4, 2), (3, 4, 2, 3)]


def inputs(shape, features):
    return normal(*shape) * 2 + 1, normal(features, seed=1), normal(features, seed=2)


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_training(shape):
    right(lambda *a: batch_norm(*a, EPS), *inputs(shape, 4))
    agree(
        lambda *a: batch_norm(*a, EPS),
        lambda x, g, b: F.batch_norm(x, None, None, g, b, training=True, eps=EPS),
        *inputs(shape, 4),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_at_test_time(shape):
    mean, variance = normal(4, seed=3), np.abs(normal(4, seed=4))
    running = torch.tensor(mean), torch.tensor(variance)
    right(lambda *a: batch_norm_at_test(*a, mean, variance, EPS), *inputs(shape, 4))
    agree(
        lambda *a: batch_norm_at_test(*a, mean, variance, EPS),
        lambda x, g, b: F.batch_norm(x, *running, g, b, training=False, eps=EPS),
        *inputs(shape, 4),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_running_statistics_are_those_of_torch(shape):
    mean, variance = normal(4, seed=3), np.abs(normal(4, seed=4))
    running = torch.tensor(mean), torch.tensor(variance)
    for step in range(3):
        x = normal(*shape, seed=step)
        F.batch_norm(torch.tensor(x), *running, training=True, momentum=0.3)
        mean, variance = running_statistics(Tensor(x), mean, variance, 0.3)
    same(mean, running[0])
    same(variance, running[1])


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4)])
def test_layer_norm(shape):
    right(lambda *a: layer_norm(*a, EPS), *inputs(shape, 4))
    agree(lambda *a: layer_norm(*a, EPS), lambda x, g, b: F.layer_norm(x, (4,), g, b, EPS), *inputs(shape, 4))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_group_norm(shape, groups):
    def mine(x, g, b):
        return group_norm(x, groups, g, b, EPS)

    right(mine, *inputs(shape, 4))
    agree(mine, lambda x, g, b: F.group_norm(x, groups, g, b, EPS), *inputs(shape, 4))


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4)])
def test_rms_norm(shape):
    right(lambda *a: rms_norm(*a, EPS), *inputs(shape, 4)[:2])
    agree(lambda *a: rms_norm(*a, EPS), lambda x, g: F.rms_norm(x, (4,), g, EPS), *inputs(shape, 4)[:2])


def test_features_on_several_axes_are_normalised_together():
    x, gain, shift = normal(2, 3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2)
    right(lambda *a: layer_norm(*a, EPS), x, gain, shift)
    agree(lambda *a: layer_norm(*a, EPS), lambda x, g, b: F.layer_norm(x, (3, 4), g, b, EPS), x, gain, shift)
    right(lambda *a: rms_norm(*a, EPS), x, gain)
    agree(lambda *a: rms_norm(*a, EPS), lambda x, g: F.rms_norm(x, (3, 4), g, EPS), x, gain)


def test_with_the_right_gain_and_shift_batch_norm_changes_nothing():
    x = Tensor(normal(6, 3))
    gain = Tensor(np.sqrt(x.value.var(axis=0) + EPS))
    same(batch_norm(x, gain, Tensor(x.value.mean(axis=0)), EPS), x.value)
