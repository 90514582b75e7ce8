"""Small trainings, made alike for every test of this room."""

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from gradlab.data import Examples, Targets
from gradlab.models import mlp
from gradlab.specs import Table
from gradlab.tasks import Classify
from gradlab.training import capture, driver, players
from gradlab.training.environment import settings
from gradlab.training.guard import DeviceGuard
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

    def rewind(self, training):
        self.lines = [line for line in self.lines if line["step"] <= training.progress.step]

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


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.first = [], {}

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        for tensor in pytree.tree_leaves((args, kwargs)):
            if isinstance(tensor, Tensor):
                memory = tensor.untyped_storage()
                if memory.data_ptr() not in self.first:  # as it was before anything was written to it
                    self.first[memory.data_ptr()] = memory, memory.clone()
        result = op(*args, **(kwargs or {}))
        self.calls.append((op, args, kwargs or {}, result))
        return result


class Graph:
    """As a CUDA graph: recording changes nothing, and replaying computes into the memory of the recording."""

    @contextmanager
    def recorded(self):
        generator = torch.get_rng_state()
        with Recorder() as self.recorder:
            yield
        torch.set_rng_state(generator)
        for memory, before in self.recorder.first.values():
            memory.copy_(before)

    @torch.no_grad()
    def replay(self):
        for op, args, kwargs, result in self.recorder.calls:
            again = op(*args, **kwargs)
            for mine, new in zip(pytree.tree_leaves(result), pytree.tree_leaves(again), strict=True):
                if isinstance(mine, Tensor) and mine.data_ptr() != new.data_ptr():
                    mine.copy_(new)


class Stream:
    def wait_stream(self, other):
        pass


@pytest.fixture
def recordings(monkeypatch):
    """The CPU in the place of a CUDA device. Gives the memory pools of its recordings."""
    pools = []
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(capture, "recording", lambda graph, stream, pool: pools.append(pool) or graph.recorded())
    flag = players.Flag(torch.device("cpu"), 0)
    monkeypatch.setattr(players, "HostGuard", lambda: DeviceGuard(flag))
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    return pools
