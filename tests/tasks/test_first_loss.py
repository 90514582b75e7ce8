"""The first loss is that of training mode, and looking at it changes nothing."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.tasks import Classify
from gradlab.tasks.first_loss import first_loss

TASK = Classify(Targets(classes=["a", "b", "c"], counts=[20, 20, 20]))


class Restless(nn.Module):
    """Changes what it can in each call: running statistics, a counter, and every generator."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        random.random()
        np.random.random()
        return self.layers(x)


def examples(rows=60):
    return Examples.of(100 * torch.randn(rows, 4), torch.arange(rows) % 3)


def state(model):
    generators = torch.get_rng_state(), *(torch.as_tensor(x) for x in np.random.get_state()[1:3])
    tensors = [value.clone() for value in model.state_dict().values()]
    return [*tensors, *generators], [model.calls, random.getstate(), [part.training for part in model.modules()]]


@pytest.mark.parametrize("training", [True, False])
def test_the_model_and_all_generators_stay_as_they_were(training):
    model, some = Restless().train(training), examples()
    tensors, others = state(model)
    first = first_loss(model, TASK, some)
    now, others_now = state(model)
    assert all(torch.equal(*pair) for pair in zip(tensors, now, strict=True))
    assert others == others_now
    assert first == first_loss(model, TASK, some)


def test_batch_normalization_takes_the_statistics_of_the_batch():
    model, some = nn.Sequential(nn.BatchNorm1d(4, affine=False), nn.Linear(4, 3)), examples()
    x = (some.inputs - some.inputs.mean(0)) / (some.inputs.var(0, correction=0) + 1e-5).sqrt()
    wanted = nn.functional.cross_entropy(model[1](x), some.targets).item()
    assert first_loss(model, TASK, some) == pytest.approx(wanted, rel=1e-5)
    assert first_loss(model.eval(), TASK, some) == pytest.approx(wanted, rel=1e-5)


def test_a_loss_that_cannot_be_had_is_not_a_number():
    class Alone(nn.Linear):
        def __deepcopy__(self, memo):
            raise TypeError("there is one of it")

    assert np.isnan(first_loss(Alone(4, 3), TASK, examples()))
    assert np.isnan(first_loss(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3)), TASK, examples(1)))
