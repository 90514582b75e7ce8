"""Steps made of code that nobody knows: replayed only where that computes the same, on the emulated device."""

import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.errors import TrainingError
from gradlab.tasks.own import OwnTask
from gradlab.training import capture, comparisons
from gradlab.training.observers import Observer

STEPS = {"epochs": 12, "lr": 2.0**-6, "log_every": 24, "evaluate_every": 36, "keep": "last"}
calls = 0
counts = SimpleNamespace(forward=0)


class Net(nn.Module):
    """Capturable; what the cases add is not."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class InPlace(Net):
    def forward(self, x):
        z = self.first(x)
        if self.training:
            self.mean.mul_(0.9).add_(z.detach().mean(0), alpha=0.1)
        return self.last(torch.tanh(z - self.mean))


class Reassigned(Net):
    def forward(self, x):
        z = self.first(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * z.detach().mean(0)
        return self.last(torch.tanh(z - self.mean))


class Counting(Net):
    steps = 0

    def forward(self, x):
        if self.training:
            self.steps += 1
        return super().forward(x) * (1 + 0.5**self.steps)


class CountingOnItsClass(Net):
    seen = 0

    def forward(self, x):
        if self.training:
            type(self).seen += 1
        return super().forward(x)


class Collecting(Net):
    def __init__(self):
        super().__init__()
        self.losses = []

    def forward(self, x):
        if self.training:
            self.losses.append(0.5)
        return super().forward(x) * (0.9 if len(self.losses) % 2 else 1.1)


class CountingInAGlobal(Net):
    def forward(self, x):
        global calls
        calls += self.training
        return super().forward(x)


class CountingInAnObject(Net):
    def forward(self, x):
        counts.forward += self.training
        return super().forward(x)


class StochasticDepth(Net):
    def forward(self, x):
        return super().forward(x) * (1.0 if not self.training or random.random() > 0.3 else 0.5)


class NumPyNoise(Net):
    def forward(self, x):
        return super().forward(x) * (1 + self.training * np.random.rand())


class OwnGenerator(Net):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x):
        noise = torch.randn(6, generator=self.generator) if self.training else torch.zeros(6)
        return self.last(torch.tanh(self.first(x)) + noise)


class OwnNumPyGenerator(Net):
    def __init__(self):
        super().__init__()
        self.noise = np.random.default_rng(3)

    def forward(self, x):
        return super().forward(x) + (float(self.noise.normal()) if self.training else 0.0)


class FromAnIterator(Net):
    def __init__(self):
        super().__init__()
        self.scales = itertools.cycle([1.0, 0.5])

    def forward(self, x):
        return super().forward(x) * (next(self.scales) if self.training else 1.0)


class Printing(Net):
    def forward(self, x):
        if self.training:
            print("forward")
        return super().forward(x)


class Hooked(Net):
    def __init__(self):
        super().__init__()
        self.first.register_forward_hook(lambda module, args, output: output * 2)


class KeepingATensor(Net):
    def forward(self, x):
        self.hidden = torch.tanh(self.first(x))
        return self.last(self.hidden)


EAGER = {
    Reassigned: r"test_unknown_steps.py:\d+ replaces the tensor Reassigned.mean",
    Counting: r"test_unknown_steps.py:\d+ changes Counting.steps from 1 to 2",
    CountingOnItsClass: r"test_unknown_steps.py:\d+ changes CountingOnItsClass.seen",
    Collecting: r"test_unknown_steps.py:\d+ changes Collecting.losses",
    CountingInAGlobal: r"test_unknown_steps.py:\d+ changes the global calls",
    CountingInAnObject: r"changes .*forward",
    StochasticDepth: r"draws from Python's random numbers",
    NumPyNoise: r"draws from NumPy's random numbers",
    OwnGenerator: r"draws from the generator OwnGenerator.generator",
    OwnNumPyGenerator: r"draws from the generator OwnNumPyGenerator.noise",
    FromAnIterator: r"scales is a cycle, whose position cannot be read",
    Printing: r"test_unknown_steps.py:\d+ prints",
    Hooked: r"there is a hook on first",
    KeepingATensor: r"test_unknown_steps.py:\d+ replaces the tensor KeepingATensor.hidden",
}


@pytest.fixture
def trained(make_training, run, recordings):
    """The training of a model in a mode, from the same state of everything."""

    def train(make, mode, **values):
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        training = make_training(model=make(), **{**STEPS, **values})
        training.mode = mode
        return run(training)

    return train


def check_same(one, other):
    assert one.record.lines == other.record.lines
    for name, value in one.model.state_dict().items():
        assert torch.equal(other.model.state_dict()[name], value), name


@pytest.mark.parametrize("make", EAGER, ids=lambda make: make.__name__)
def test_a_step_with_python_state_is_eager_and_says_why(trained, make, capsys):
    plain, other = trained(make, "eager"), trained(make, "graph")
    assert other.mode == "eager"
    assert not other.step.captured
    capsys.readouterr()
    assert_reason(other, EAGER[make])
    check_same(plain, other)


def assert_reason(training, pattern):
    import re

    assert re.search(pattern, training.mode_reason), training.mode_reason


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("make", [Net, InPlace], ids=lambda make: make.__name__)
def test_an_unknown_step_that_only_computes_is_replayed(trained, make, at_once, monkeypatch):
    monkeypatch.setattr(capture, "_AT_ONCE", at_once)
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    plain, other = trained(make, "eager"), trained(make, "graph")
    assert other.mode == "graph"
    assert {count for _, count in other.step.captured} == {1, at_once}
    assert other.comparisons.passed.step >= STEPS["log_every"]
    check_same(plain, other)


def test_a_replay_that_differs_from_its_first_comparison_on_is_not_used(trained, monkeypatch, capsys):
    wrong = capture._Captured.replay

    def replay(self, guards, batches):
        steps = wrong(self, guards, batches)
        self.parts[0][0].add_(1)
        guards[0].flag.steps.add_(1)
        return steps

    monkeypatch.setattr(capture._Captured, "replay", replay)
    plain, other = trained(Net, "eager"), trained(Net, "graph")
    assert other.mode == "eager"
    assert "a replayed step computes something else" in other.mode_reason
    check_same(plain, other)


class Forgetting(Net):
    """Reads a place that nobody sees, which something changes in the middle of the training."""

    def forward(self, x):
        return super().forward(x) * HIDDEN.numel_of_the_moment()


class _Hidden:
    __slots__ = ()

    def numel_of_the_moment(self):
        return float(len(_stack))


_stack = bytearray(b"x")
HIDDEN = _Hidden()


class Change(Observer):
    every = 60

    def step(self, training):
        if training.progress.step == self.every and len(_stack) == 1:
            _stack.extend(b"x")


@pytest.fixture
def hidden():
    yield
    del _stack[1:]


def test_steps_since_the_last_comparison_are_trained_again(trained, make_training, run, monkeypatch, hidden, capsys):
    monkeypatch.setattr(comparisons, "_FIRST", 24)
    monkeypatch.setattr(capture.GraphStep, "look", lambda self: None)  # which would see it at once
    training = trained(Forgetting, "graph", observers=[Change()], epochs=20)
    assert training.mode == "eager"
    assert "Trained again from step" in capsys.readouterr().err
    steps = [line["step"] for line in training.record.lines if line["split"] == "train"]
    assert steps == sorted(steps)
    assert training.progress.step == training.total_steps


class Switch(Observer):
    """Changes an attribute of the model between two steps."""

    every = 48

    def step(self, training):
        training.model.scale = 2.0


class Scaled(Net):
    scale = 1.0

    def forward(self, x):
        return super().forward(x) * self.scale


def test_a_change_by_an_observer_ends_the_replays(trained):
    plain, other = (trained(Scaled, mode, observers=[Switch()]) for mode in ("eager", "graph"))
    assert other.mode == "eager"
    assert_reason(other, "changes Scaled.scale")
    check_same(plain, other)


def anneal(counter):
    def objective(model, batch):
        counter["steps"] += 1
        each = nn.functional.cross_entropy(model(batch["inputs"]), batch["targets"], reduction="sum")
        return each / counter["steps"], len(batch["targets"])

    return objective


def test_an_objective_that_counts_is_eager(make_training, run, recordings):
    trainings = {}
    for mode in ("eager", "graph"):
        torch.manual_seed(0)
        task = OwnTask(anneal({"steps": 0}))
        trainings[mode] = make_training(model=nn.Sequential(nn.Linear(4, 3)), task=task, **STEPS)
        trainings[mode].mode = mode
        run(trainings[mode])
    assert trainings["graph"].mode == "eager"
    assert_reason(trainings["graph"], "changes .*counter")
    check_same(*trainings.values())


def test_a_fast_step_that_was_asked_for_is_an_error_where_there_is_none(make_training, run, recordings):
    training = make_training(model=Counting(), compile="on", **STEPS)
    training.mode = "graph"
    with pytest.raises(TrainingError, match=r"train\.compile=on.*changes Counting\.steps from 1 to 2"):
        run(training)


def test_models_of_ours_and_of_torch_are_known(make_training, run, recordings):
    training = make_training(**STEPS)
    training.mode = "graph"
    assert run(training).step.watch is None
    training = make_training(model=nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)))
    training.mode = "graph"
    assert run(training).step.watch is None


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, momentum=None), nn.Linear(6, 3)),
        nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, activation=lambda x: x * 2), nn.Linear(4, 3)),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    ],
    ids=["cumulative mean", "function of the user's", "parametrized"],
)
def test_modules_of_torch_that_do_more_are_not_known(make_training, run, recordings, model):
    training = make_training(model=model, epochs=1)
    training.mode = "graph"
    assert run(training).step.watch is not None


def test_a_step_whose_state_fits_only_once_stays_eager(trained, monkeypatch):
    monkeypatch.setattr(capture, "find_room", lambda state, device: None)
    plain, other = trained(Net, "eager"), trained(Net, "graph")
    assert other.mode == "eager"
    assert_reason(other, "does not fit into memory again")
    check_same(plain, other)


def test_a_recording_that_fails_is_an_eager_step_with_the_same_batch(trained, monkeypatch):
    def fail(self, batches):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(capture.GraphStep, "_capture", fail)
    plain, other = trained(Net, "eager"), trained(Net, "graph")
    assert_reason(other, "it cannot be recorded: operation not permitted")
    check_same(plain, other)
