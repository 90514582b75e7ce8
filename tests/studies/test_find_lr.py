"""The range test for a module: a rate that works, and nothing that is changed."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.studies.find_lr import find_lr

X = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
Y = X[:, :3].argmax(1)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))


class Counts(nn.Linear):
    """Keeps something in Python, and a buffer that it replaces."""

    def __init__(self):
        super().__init__(4, 3)
        self.calls = 0
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.calls += self.training
        self.seen = self.seen + self.training
        return super().forward(x)


def objective(model, batch):
    logits = model(batch["inputs"])
    return cross_entropy(logits, batch["targets"], reduction="sum"), len(logits)


DATA = {
    "arrays": lambda: (X, Y),
    "dataset": lambda: TensorDataset(X, Y),
    "batches": lambda: [(X[:100], Y[:100]), (X[100:], Y[100:])],
    "loader": lambda: DataLoader(
        TensorDataset(X, Y), batch_size=50, shuffle=True, generator=torch.Generator().manual_seed(1)
    ),
}
CALLS = {
    "loss": {},
    "objective": {"objective": objective, "validation": 0.2},
    "everything": {"metrics": {"m": lambda output, target: output.mean()}, "groups": {"": {"lr": 0.1}}, "epochs": 3},
}


def generators(data):
    own = [data.generator.get_state()] if isinstance(data, DataLoader) else []
    return [torch.get_rng_state(), *own], (np.random.get_state()[1].tolist(), random.getstate())


@pytest.mark.parametrize("build", [net, Counts])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", DATA)
def test_module_and_generators_are_left_as_they_were(kind, call, build):
    options = {**CALLS[call]}
    if kind in ("batches", "loader"):
        options.pop("validation", None)
    model, data = build(), DATA[kind]()
    before, (tensors, others) = {n: v.clone() for n, v in model.state_dict().items()}, generators(data)
    found = find_lr(model, data, rates=30, **options)
    assert len(found.rates) == len(found.losses) == len(found.smoothed) <= 30
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert getattr(model, "calls", 0) == 0
    now, now_others = generators(data)
    assert all(torch.equal(a, b) for a, b in zip(now, tensors, strict=True))
    assert now_others == others


def test_it_is_a_public_function():
    assert gl.find_lr is find_lr


def test_the_suggestion_trains_better_than_rates_far_from_it():
    found = gl.find_lr(net(), (X, Y))
    assert found.suggestion is not None
    losses = [
        gl.fit(net(), (X, Y), validation=(X, Y), epochs=3, keep="last", doctor=False, lr=lr).validation["loss"]
        for lr in (found.suggestion, found.suggestion / 300, min(1.0, found.suggestion * 300))
    ]
    assert losses[0] == min(losses)


def test_the_optimizer_of_the_call_is_the_one_that_is_tested():
    model = net()
    by_instance = gl.find_lr(model, (X, Y), optimizer=torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9))
    by_name = gl.find_lr(model, (X, Y), optimizer="momentum")
    assert by_instance.losses == by_name.losses
    assert by_name.losses != gl.find_lr(model, (X, Y)).losses


def test_the_result_is_shown_in_one_line():
    found = gl.find_lr(net(), (X, Y))
    assert repr(found) == f"RangeTest({len(found.rates)} rates, suggestion {found.suggestion:.3g}, {found.stopped})"


REFUSED = {
    "an iterator": (lambda m: {"data": iter([(X, Y)]), "steps": 5}, "use up an iterator"),
    "a folder": (lambda m: {"out": "run"}, "keeps nothing"),
    "observers": (lambda m: {"observers": []}, "keeps nothing"),
    "another name": (lambda m: {"learning_rate": 1}, "here it is called lr"),
    "a range": (lambda m: {"low": 1, "high": 0.1}, "low=1, high=0.1"),
    "no range": (lambda m: {"low": "a"}, "low='a'"),
    "one rate": (lambda m: {"rates": 1}, "2 or more"),
    "no module": (lambda m: {"model": nn.Linear}, "Give an instance"),
    "no data": (lambda m: {"data": 5}, "got int"),
    "lbfgs": (lambda m: {"optimizer": "lbfgs", "batch_size": "full"}, "lbfgs finds that length by itself"),
    "a closure": (lambda m: {"objective": lambda _, batch: objective(m, batch)}, "does not use the model that it is"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_range_test_is_refused(kind):
    build, says = REFUSED[kind]
    model = net()
    options = {"model": model, "data": (X, Y), **build(model)}
    with pytest.raises(GradlabError, match=says):
        gl.find_lr(options.pop("model"), options.pop("data"), **options)


def test_a_module_that_cannot_be_copied_is_refused():
    model = net()
    model.lock = (one for one in ())
    with pytest.raises(GradlabError, match="cannot be copied"):
        gl.find_lr(model, (X, Y))
