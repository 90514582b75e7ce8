import numpy as np
import pytest
import torch
from torch import nn

from gradlab.data import Examples


@pytest.fixture
def baseline():
    """The name of a task's only baseline, made of these targets, and its outputs for some inputs."""

    def made(task, targets, count):
        train = Examples.of(torch.zeros(len(targets), 4), targets, np.arange(len(targets)))
        ((name, model),) = task.baselines(train, nn.Identity()).items()
        return name, model(torch.randn(count, 4))

    return made
