"""Small trainings, made alike for every test of this room."""

import numpy as np
import pytest
import torch

from gradlab.data import Examples, Targets
from gradlab.models import mlp
from gradlab.specs import Table
from gradlab.tasks import Classify
from gradlab.training import driver
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def any_cpu_computes_in_bf16(monkeypatch):
    """Those that are not made for it are refused because they are slow, which no test minds. LSTMs need one that is."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)


class Record(Observer):
    """Every line, without the clock."""

    def __init__(self):
        self.lines = []

    def log(self, training, line):
        self.lines.append({k: v for k, v in line.items() if k != "seconds"})

    def losses(self, split="train"):
        return [line["loss"] for line in self.lines if line["split"] == split]


class Save(Observer):
    """The checkpoint of one step."""

    def __init__(self, step):
        self.every = self.step_number = step
        self.checkpoint = None

    def step(self, training):
        if training.progress.step == self.step_number:
            self.checkpoint = training.checkpoint()


def flowers(count, seed=0, labels=3):
    """Three overlapping clouds of points with four measurements each."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(labels, (count,), generator=generator)
    centres = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 0.5]])
    x = centres[y] + torch.randn(count, 4, generator=generator)
    return Examples.of(x, y, np.arange(count))


@pytest.fixture
def make_plan():
    return lambda **values: Plan(**plan_schema.resolve(values, "train"))


@pytest.fixture
def make_training(make_plan):
    """A training, its model and its record, seeded by its plan as a run is."""

    def make(*, model=None, task=None, train=None, validation=20, observers=(), seed=0, masks=None, **plan):
        settled = make_plan(**{"epochs": 3, "batch_size": 8, "seed": seed, **plan})
        if model is None:
            torch.manual_seed(seed)
            model = mlp(Table(4), 3, hidden=[6])
        train = flowers(45) if train is None else train
        validation = flowers(validation, seed=1) if isinstance(validation, int) else validation
        driver.check(model, train, validation, settled)
        task = task or Classify(Targets(classes=["a", "b", "c"]))
        training = Training(model, task, train, validation, settled, observers=observers, masks=masks)
        training.record = Record()
        training.observers = [training.record, *observers]
        return training

    return make


@pytest.fixture
def run():
    """Run a training in the settings of its plan; a checkpoint, if given, is restored first."""

    def run_it(training, checkpoint=None):
        with settings(CPU, 1, training.plan):
            if checkpoint is not None:
                training.restore(checkpoint)
            training.run()
        return training

    return run_it


@pytest.fixture
def save_at():
    return Save


@pytest.fixture
def examples():
    return flowers
