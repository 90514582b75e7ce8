"""Whatever `fit` is called with, it trains, or says in one message what is wrong: before there is a folder."""

import inspect
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset

import gradlab as gl
from gradlab.api import runs
from gradlab.errors import GradlabError, TrainingError
from gradlab.training.fit_arguments import _REMARKS, _SAME
from gradlab.training.plan import plan_schema

X, Y = torch.randn(20, 4), torch.arange(20) % 3


class Odd(Dataset):
    """No length, and no items."""


class Ragged(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, row):
        if row >= 20:
            raise IndexError(row)
        return torch.zeros(4 + row % 2), row % 3


def fails(*arguments):
    raise ArithmeticError("a fault of the user's own function")


VALUES = {
    "nothing": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "number": 5,
    "huge": 10**30,
    "share": 0.5,
    "nan": math.nan,
    "infinity": math.inf,
    "complex": 1j,
    "text": "abc",
    "empty text": "",
    "null in text": "a\0b",
    "bytes": b"abc",
    "path": Path("a\0b"),
    "list": [1],
    "empty list": [],
    "nested": [[1, [2]], "a"],
    "tuple": (1, 2),
    "empty tuple": (),
    "set": {1, 2},
    "dictionary": {"a": 5},
    "empty dictionary": {},
    "numbered": {1: {2: 3}},
    "unnamed": {"": {"": 1}},
    "of groups": {"weight": {"lr": "fast"}},
    "iterator": lambda: iter([1, 2]),
    "array": np.zeros((20, 4)),
    "0-d array": np.array(1.0),
    "objects": np.array([None, "a"], dtype=object),
    "dates": np.array(["2020-01-01"] * 20, dtype="datetime64[D]"),
    "sparse matrix": scipy.sparse.eye_array(20).tocsr(),
    "tensor": torch.zeros(20),
    "0-d tensor": torch.tensor(1.0),
    "complex tensor": torch.zeros(20, 4, dtype=torch.complex64),
    "sparse tensor": torch.eye(20).to_sparse(),
    "meta tensor": torch.zeros(20, 4, device="meta"),
    "integers": torch.zeros(20, dtype=torch.uint8),
    "matrix": torch.zeros(20, 7),
    "module": lambda: nn.Linear(4, 3),
    "module class": nn.Linear,
    "lazy module": lambda: nn.LazyLinear(3),
    "meta module": lambda: nn.Linear(4, 3, device="meta"),
    "loss class": nn.CrossEntropyLoss,
    "vector loss": nn.CrossEntropyLoss(reduction="none"),
    "lambda of none": lambda: 0,
    "lambda of one": lambda: lambda a: a,
    "lambda of two": lambda: lambda a, b: 1.0,
    "fails": lambda: fails,
    "optimizer class": torch.optim.Optimizer,
    "dataset": lambda: TensorDataset(X, Y),
    "ragged dataset": Ragged,
    "odd dataset": Odd,
    "data type": torch.float32,
    "device": torch.device("cpu"),
    "object": object(),
    "exception": ValueError("x"),
    "observer class": gl.Observer,
    "objective": lambda: gl.Objective(loss=lambda model, batch: 5),
}
FACTORIES = {"iterator", "module", "lazy module", "meta module", "lambda of one", "lambda of two", "fails", "objective"}
FACTORIES |= {"dataset", "ragged dataset", "odd dataset"}

PLACES = {
    "model": [lambda v: {"model": v}],
    "data": [
        lambda v: {"data": v},
        lambda v: {"data": (X, v)},
        lambda v: {"data": (v, Y)},
        lambda v: {"data": (X, Y, v)},
        lambda v: {"data": {"inputs": X, "targets": v}},
        lambda v: {"data": [v]},
        lambda v: {"data": [(X, v)]},
        lambda v: {"data": (X, v), "loss": "mse"},
        lambda v: {"data": [(X, v)], "loss": "mse"},
        lambda v: {"data": [(v, Y)], "loss": nn.CrossEntropyLoss()},
    ],
    "loss": [lambda v: {"loss": v}],
    "progress": [lambda v: {"progress": v}],
    "objective": [
        lambda v: {"objective": v},
        lambda v: {"objective": {"a": v}},
        lambda v: {"objective": lambda model, batch: v},
        lambda v: {"objective": lambda model, batch: (model(batch["inputs"]).sum(), v)},
    ],
    "metrics": [
        lambda v: {"metrics": v},
        lambda v: {"metrics": {"m": v}},
        lambda v: {"metrics": {"m": lambda output, target: v}},
        lambda v: {"metrics": {"m": lambda model, batch: (v, v)}},
    ],
    "criterion": [lambda v: {"criterion": v}],
    "validation": [lambda v: {"validation": v}, lambda v: {"validation": (X, v)}, lambda v: {"validation": [(v, Y)]}],
    "groups": [lambda v: {"groups": v}, lambda v: {"groups": {"weight": v}}, lambda v: {"groups": {"": {"lr": v}}}],
    "out": [lambda v: {"out": v}],
    "device": [lambda v: {"device": v}],
    "observers": [lambda v: {"observers": v}, lambda v: {"observers": [v]}],
    **{name: [lambda v, name=name: {name: v}] for name in plan_schema.knobs},
    "optimizer": [lambda v: {"optimizer": v}, lambda v: {"optimizer": {"name": "momentum", "momentum": v}}],
}


def test_every_parameter_is_tried():
    assert {*inspect.signature(gl.fit).parameters, *plan_schema.knobs} - {"plan"} == {*PLACES}


def outcome(options, folder):
    """What is wrong with a call of `fit`; empty where it trains, or is refused as it should be."""
    try:
        trained = gl.fit(options.pop("model"), options.pop("data"), **{"out": folder, **options})
        return "" if isinstance(trained, gl.Fit) else repr(trained)
    except TrainingError as error:
        return "" if "diverged" in str(error) else repr(error)
    except GradlabError as error:
        return f"{error!r} after the folder" if folder.exists() else ""
    except Exception as error:
        return repr(error)


_SLOW = plan_schema.knobs.keys() - {"optimizer", "schedule", "freeze", "seed", "epochs"}  # alike, and many


@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=[pytest.mark.slow] if place in _SLOW else []) for place in PLACES]
)
def test_a_value_of_any_type_is_trained_with_or_refused_before_there_is_a_folder(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "_report", lambda run: None)  # which takes longer than all else
    faults = {}
    for name, value in VALUES.items():
        for number, put in enumerate(PLACES[place]):
            value_now = value() if name in FACTORIES else value
            options = {"model": nn.Linear(4, 3), "data": (X, Y), "steps": 1, "doctor": False, **put(value_now)}
            faults[name, number] = outcome(options, tmp_path / f"{name} {number}")
    wrong = [f"{name}: {fault}" for name, fault in faults.items() if fault]
    assert not wrong, "\n".join(wrong)


# Names.


@pytest.mark.parametrize("name", sorted(name for names in _SAME.values() for name in names.split()))
def test_the_name_that_another_library_has_is_answered_with_ours(name):
    (ours,) = [ours for ours, names in _SAME.items() if name in names.split()]
    assert ours in PLACES
    with pytest.raises(GradlabError, match=rf"'{name}': here it is called {ours}\."):
        gl.fit(nn.Linear(4, 3), (X, Y), **{name: 1})


@pytest.mark.parametrize("name", sorted(_REMARKS))
def test_what_is_done_in_another_way_is_answered_with_it(name):
    with pytest.raises(GradlabError, match=f"There is no key in fit, '{name}'. [A-Z]"):
        gl.fit(nn.Linear(4, 3), (X, Y), **{name: 1})


@pytest.mark.parametrize(("name", "ours"), [("epoch", "epochs"), ("metrik", "metrics"), ("validatoin", "validation")])
def test_a_slip_of_the_pen_is_answered_with_the_closest_name(name, ours):
    with pytest.raises(GradlabError, match=f"'{name}'. Did you mean '{ours}'"):
        gl.fit(nn.Linear(4, 3), (X, Y), **{name: 1})


def test_a_loss_given_as_criterion_is_answered_with_loss():
    with pytest.raises(GradlabError, match="a loss is loss="):
        gl.fit(nn.Linear(4, 3), (X, Y), criterion=nn.CrossEntropyLoss())
