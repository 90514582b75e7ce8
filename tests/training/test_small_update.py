import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from gradlab.training.guard import DeviceGuard, Flag
from gradlab.training.optimizers import Parameters, optimizers
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.small_update import SmallUpdate, small_update
from gradlab.training.step import GradientStep


def steps_of(values, small, bad_at=None):
    """What some steps leave: losses, norms, weights, the optimiser's state and the guard's."""
    torch.manual_seed(0)
    # Of several blocks, of a whole one, of a single number, and of more blocks than are added up at once.
    model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 9), nn.Tanh(), nn.Linear(9, 1), Wide())
    plan = Plan(**plan_schema.resolve(values, "train"))
    parameters = Parameters(model, plan.weight_decay)
    parameters.set(lambda name: name.startswith("2."), decay=0.3, multiple=0.5)
    optimizer = optimizers.build(plan.optimizer, parameters)
    guard = DeviceGuard(Flag(torch.device("cpu"), 0))

    def loss(batch):
        return (model(batch["inputs"]).square() * batch["scale"]).sum(), len(batch["inputs"])

    step = GradientStep(loss, model, optimizer, plan, guard)
    if small:
        step.small = SmallUpdate(optimizer, guard, plan.clip)
    seen = []
    for i in range(6):
        scale = torch.tensor(torch.inf if i == bad_at else 3.0)
        batch = {"inputs": torch.randn(7, 5, generator=torch.Generator().manual_seed(i)), "scale": scale}
        total, _ = step(batch, torch.tensor(0.001 * (i + 1)))["loss"]
        if bad_at is None or i < bad_at:
            seen += [total, guard.norm.clone(), torch.tensor(list(step.gradient_norms().values()))]
    left = optimizer.snapshot()
    return [*seen, *model.parameters(), left["step"], *left["exp_avg"].values(), *left["exp_avg_sq"].values()], guard


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1000) / 10)

    def forward(self, x):
        return x * (1 + self.weight @ torch.linspace(-1, 1, len(self.weight)))


def in_the_interpreter():
    from gradlab.kernels import small_update as small_kernels

    small_kernels.BLOCK, small_kernels.TILE = 64, 64
    for own in ({"optimizer": "adam"}, {"optimizer": "adamw", "clip": 0.7}):
        values = {"weight_decay": 0.1, "batch_size": 7, **own}
        (plain, _), (small, _), (again, _) = (steps_of(values, way) for way in (False, True, True))
        torch.testing.assert_close(small, plain, rtol=1e-5, atol=1e-6)
        assert all(torch.equal(a, b) for a, b in zip(small, again, strict=True))
    (plain, one), (small, other) = (steps_of({"batch_size": 7}, way, bad_at=3) for way in (False, True))
    torch.testing.assert_close(small, plain, rtol=1e-5, atol=1e-6)
    assert one.frozen_at() == other.frozen_at() == 3


def test_it_trains_as_torch_does_and_twice_the_same_in_the_interpreter():
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    ran = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


class OnADevice(torch.Tensor):
    is_cuda = True


@pytest.mark.parametrize(
    ("own", "steps", "taken"),
    [
        ({}, 10**4, True),
        ({}, 1000, False),
        ({"optimizer": "sgd"}, 10**4, False),
        ({"l1": 0.1}, 10**4, False),
        ({"optimizer": "adamw", "clip": 1.0}, 10**4, True),
    ],
)
def test_it_is_taken_for_adam_on_a_device_in_a_run_that_pays_for_it(own, steps, taken, monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setattr("gradlab.training.small_update.run_on", lambda device: True)
    plan = Plan(**plan_schema.resolve(own, "train"))
    optimizer = optimizers.build(plan.optimizer, Parameters(nn.Linear(3, 2)))
    guard = DeviceGuard(Flag(torch.device("cpu"), 0))
    assert small_update(optimizer, guard, plan, steps) is None
    optimizer.values = [value.as_subclass(OnADevice) for value in optimizer.values]
    assert (small_update(optimizer, guard, plan, steps) is not None) == taken


if __name__ == "__main__":
    in_the_interpreter()
