"""Where a framework runs the loop, findings name the user's lines and modules, not the framework's."""

import runpy
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import torch

from gradlab.diagnosis.doctor import Doctor
from gradlab.diagnosis.finding import Spot

FRAMEWORK = """
import functools
import torch
from torch import nn


class Wrapper(nn.Module):
    def __init__(self, wrapped):
        super().__init__()
        self.wrapped = wrapped

    def forward(self, *args):
        return self.wrapped(*args)


generated = {}
exec("def call(function, *args):\\n    return function(*args)", generated)  # as dataclasses and tracers make code


class Trainer:
    '''Calls hooks of the user's model, as Lightning does.'''

    def fit(self, model, batches):
        optimizer = model.configure_optimizers()
        for batch in batches:
            loss = generated["call"](functools.partial(model.training_step, batch))
            loss.backward()
            optimizer.step()


class Net:
    '''Makes module and optimizer from classes that it is given, as skorch does.'''

    def __init__(self, module, criterion):
        self.module, self.criterion = module, criterion

    def fit(self, batches):
        self.module_ = self.module()
        optimizer = torch.optim.SGD(self.module_.parameters(), lr=0.1)
        for x, y in batches:
            self.criterion()(self.module_(x), y).backward()
            optimizer.step()


class Loop:
    '''Calls a model that was made by the user through a wrapper of its own, as accelerate and Trainer do.'''

    def __init__(self, model, loss):
        self.wrapper, self.loss = Wrapper(model), loss

    def train(self, batches):
        optimizer = torch.optim.SGD(self.wrapper.parameters(), lr=0.1)
        for x, y in batches:
            self.loss(self.wrapper(x), y).backward()
            optimizer.step()
"""

START = """
import framework
import torch
from torch import nn
import torch.nn.functional as F

x = torch.randn(64, 10)
y = (x[:, 0] > 0).long()
batches = [(x, y)] * 30
"""

HOOKS = """
class Lit(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(-1))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)  # optimizer

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self.net(x), y)  # loss

framework.Trainer().fit(Lit(), batches)
"""

OWN_FORWARD = HOOKS.replace("F.cross_entropy(self.net(x), y)", "F.cross_entropy(self(x), y)").replace(
    "    def configure", "    def forward(self, x):\n        return self.net(x)\n\n    def configure"
)
NAMED = OWN_FORWARD.replace("fit(Lit(), batches)", "fit(lit, batches)").replace(
    "framework.Tr", "lit = Lit()\nframework.Tr"
)

CLASSES = """
class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 2), nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)

framework.Net(Mine, nn.CrossEntropyLoss).fit(batches)  # loss, optimizer
"""

WRAPPED = """
body = nn.Sequential(nn.Linear(10, 2), nn.Softmax(-1))
loop = framework.Loop(body, F.cross_entropy)
loop.train(batches)  # loss, optimizer
"""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`watched(script)`: the doctor after a script that trains by a framework of another environment."""
    packages = tmp_path / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "framework.py").write_text(FRAMEWORK)
    monkeypatch.syspath_prepend(packages)
    monkeypatch.chdir(tmp_path)

    def watch(script: str) -> Doctor:
        Path("mine.py").write_text(START + dedent(script))
        torch.manual_seed(0)
        with Doctor(tell=False) as doctor:
            runpy.run_path("mine.py", run_name="__main__")
        return doctor

    yield watch
    sys.modules.pop("framework", None)


def line_of(mark: str) -> int:
    lines = Path("mine.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if "#" in line and mark in line.partition("#")[2])


@pytest.mark.parametrize(
    ("script", "module"),
    [
        (HOOKS, "net.3"),
        (OWN_FORWARD, "Lit.net.3"),
        (NAMED, "lit.net.3"),
        (CLASSES, "Mine.layers.1"),
        (WRAPPED, "body.1"),
    ],
    ids=["hooks", "own forward", "a name further up", "classes", "wrapped"],
)
def test_places_are_the_users(watched, script, module):
    findings = {finding.slug: finding for finding in watched(script).verdict.findings}
    assert findings["softmax_before_ce"].place == (Spot(module), Spot("loss", " at ", "mine.py", line_of("loss")))
    assert findings["missing_zero_grad"].place == (Spot("SGD", " made at ", "mine.py", line_of("optimizer")),)


def test_a_loss_by_hand_is_where_the_model_was_called(watched):
    by_hand = HOOKS.replace("F.cross_entropy(self.net(x), y)", "(self.net(x)[:, 0] - y).square().mean()")
    (loss,) = watched(by_hand).record.losses
    assert str(loss.site) == f"mine.py:{line_of('loss')}"


def test_no_place_at_all_is_the_frameworks(watched):
    record = watched(WRAPPED).record
    sites = [*(root.site for root in record.roots), *(loss.site for loss in record.losses)]
    assert {site.file for site in sites if site is not None} == {"mine.py"}
    assert not [name for name in (*record.modules, *record.parameters) if "rapper" in name]


def test_without_any_code_of_the_user_the_place_is_that_of_the_package(watched, tmp_path):
    packages = tmp_path / "lib" / "site-packages"
    (packages / "whole.py").write_text(START + WRAPPED)
    with Doctor(tell=False) as doctor:
        runpy.run_path(str(packages / "whole.py"), run_name="__main__")
    # This file is the user's, who has started it.
    assert {Path(loss.site.file).name for loss in doctor.record.losses} == {Path(__file__).name}
