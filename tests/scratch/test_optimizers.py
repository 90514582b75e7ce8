import numpy as np
import pytest
import torch
from scratch_helpers import normal, same

from gradlab.scratch import Tensor
from gradlab.scratch.optimizers import SGD, Adam, Momentum

RULES = {
    "sgd": (lambda p: SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "momentum": (lambda p: Momentum(p, 0.1, 0.8), lambda p: torch.optim.SGD(p, 0.1, momentum=0.8)),
    "adam": (
        lambda p: Adam(p, 0.1, (0.7, 0.9), 0.01),
        lambda p: torch.optim.Adam(p, 0.1, (0.7, 0.9), 0.01),
    ),
    "adam as it comes": (Adam, torch.optim.Adam),
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_twenty_steps_are_those_of_torch(name):
    mine, theirs = RULES[name]
    start = normal(3, 2), normal(2, seed=1)
    ours, twins = [Tensor(a) for a in start], [torch.tensor(a, requires_grad=True) for a in start]
    optimizer, twin = mine(ours), theirs(twins)
    for _ in range(20):
        ((ours[0] - ours[1]) ** 4 / 50 + ours[0] ** 2).sum().backward()
        optimizer.step()
        twin.zero_grad()
        ((twins[0] - twins[1]) ** 4 / 50 + twins[0] ** 2).sum().backward()
        twin.step()
    for parameter, other in zip(ours, twins, strict=True):
        same(parameter, other)


def test_a_parameter_without_gradient_stays():
    used, unused = Tensor(1.0), Tensor(2.0)
    optimizer = Adam([used, unused], 0.1)
    (used * used).backward()
    optimizer.step()
    assert used.grad is None
    assert (used.value, unused.value) == (pytest.approx(0.9, abs=1e-7), 2)


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate():
    x = Tensor([1e-3, -50.0])
    optimizer = Adam([x], 0.25, eps=1e-12)
    (x * np.array([1e-4, 1e3])).sum().backward()
    optimizer.step()
    assert np.allclose(x.value, [1e-3 - 0.25, -50 - 0.25])
