"""The doctor around a loop: what it leaves behind, and what it says of nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.module import _has_any_global_hook

import gradlab as gl
from gradlab.diagnosis.doctor import Doctor, Enough


def loop(steps: int, step: bool = True) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1)).backward()
        if step:
            optimizer.step()


def of_torch() -> list[object]:
    return [torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad, F.mse_loss, F.dropout, nn.Module.train]


def test_torch_is_as_before_afterwards():
    before = of_torch()
    with pytest.raises(TypeError), Doctor(tell=False):
        loop("three")  # type: ignore[arg-type]
    with Doctor(tell=False):
        loop(3)
    assert of_torch() == before
    assert not _has_any_global_hook()


@pytest.mark.parametrize("inputs", [torch.eye(30).to_sparse(), torch.empty(0, 30)], ids=["sparse", "empty"])
def test_unusual_batches_are_no_fault_of_the_doctor(inputs):
    model, targets = nn.Linear(30, 1), torch.rand(len(inputs), 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Doctor(tell=False) as doctor:
        for _ in range(4):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    assert doctor.verdict.faults == []


def test_the_verdict_comes_after_the_block():
    with gl.doctor(tell=False) as doctor:
        loop(3)
        with pytest.raises(gl.GradlabError, match="still watching"):
            doctor.verdict  # noqa: B018
    assert doctor.verdict.steps == 3


def test_so_many_steps_are_enough():
    with gl.doctor(tell=False, steps=5) as doctor:
        loop(100)
    assert doctor.verdict.steps == 5
    with Doctor(tell=False, steps=5), pytest.raises(Enough):
        loop(100)


@pytest.mark.parametrize(
    ("steps", "step", "told"), [(0, True, "No training was seen"), (7, False, "backward() was called 7 times")]
)
def test_nothing_is_said_of_no_training(steps, step, told):
    with Doctor(tell=False) as doctor:
        loop(steps, step)
    assert told in doctor.verdict.sentence
    assert doctor.verdict.findings == []


def on_meta():
    return nn.Linear(4, 3, device="meta"), torch.zeros(8, 4, device="meta")


def lazy():
    return nn.LazyLinear(3), torch.randn(8, 4)


@pytest.mark.parametrize("make", [on_meta, lazy])
def test_parameters_without_numbers_are_no_fault_of_the_doctor(make, capsys):
    with gl.doctor() as doctor:
        model, x = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    assert doctor.verdict.faults == []


def test_a_leaf_as_the_loss_is_no_fault_of_the_doctor(capsys):
    with gl.doctor() as doctor:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            model(torch.randn(8, 4))
            torch.zeros((), requires_grad=True).backward()
            optimizer.step()
    assert doctor.verdict.faults == []
