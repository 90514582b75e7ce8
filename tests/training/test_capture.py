import math
import shutil
import sys

import pytest
import torch

from gradlab.training import capture
from gradlab.training.capture import GraphStep, choose_mode, steps_at_once
from gradlab.training.guard import DeviceGuard, Flag

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("device", "steps", "plan", "mode"),
    [
        (CPU, 1000, {}, "eager"),
        (CPU, 10**7, {}, "eager"),
        (CPU, 1, {"compile": "on"}, "compiled"),
        (CPU, 10**7, {"compile": "off"}, "eager"),
        (CUDA, 10, {}, "eager"),
        (CUDA, 1000, {}, "graph"),
        (CUDA, 10, {"compile": "on"}, "graph"),
        (CUDA, 1000, {"compile": "off"}, "eager"),
        (CPU, 10**7, {"optimizer": "lbfgs", "batch_size": "full"}, "eager"),
        (CUDA, 10**7, {"optimizer": "lbfgs", "batch_size": "full"}, "eager"),
    ],
)
def test_the_mode_follows_from_the_plan_the_device_and_the_number_of_steps(make_plan, device, steps, plan, mode):
    assert choose_mode(make_plan(**plan), device, steps) == mode


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_step_trains_as_the_plain_one_does(make_training, run):
    plain, compiled = make_training(), make_training()
    compiled.mode = "compiled"
    run(plain)
    run(compiled)
    assert compiled.record.losses() == pytest.approx(plain.record.losses(), rel=1e-4)


class OnTheCpu(GraphStep):
    """Steps that are made together, without a device to record them on."""

    watch = None
    compares = False
    replays = True

    def can_replay(self, batches):
        return True

    def __init__(self, step, device, at_once, **options):
        self.step, self.guards, self.gradient_norms = step, step.guards, step.gradient_norms
        self.at_once, self.sizes = at_once, []

    def __call__(self, batch, lr):
        return self.step(batch, lr)

    def several(self, batches, lrs):
        self.sizes.append(len(batches))
        return [self.step(batch, lr) for batch, lr in zip(batches, lrs, strict=True)]


def test_steps_are_made_together_only_where_nothing_is_due_between_them(make_training, run, save_at, monkeypatch):
    plan = {"epochs": 20, "log_every": 50, "evaluate_every": 70, "schedule": "cosine"}
    alone = run(make_training(**plan))
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    monkeypatch.setattr(capture, "GraphStep", OnTheCpu)
    together = make_training(**plan, observers=[save := save_at(60)])
    together.mode = "graph"
    run(together)
    # 120 steps, in which 50, 60, 70, 100 and 120 are watched: 48 before the first, none before 60 and 70, 16 and 16.
    assert together.step.sizes == [16, 16, 16, 16, 16]
    assert together.record.lines == alone.record.lines
    resumed = make_training(**plan)
    resumed.mode = "graph"
    run(resumed, save.checkpoint)
    assert resumed.step.sizes == [16, 16]
    for name, value in alone.model.state_dict().items():
        assert torch.equal(together.model.state_dict()[name], value)
        assert torch.equal(resumed.model.state_dict()[name], value)


def test_steps_of_small_models_in_long_trainings_are_made_together():
    small, large = [torch.zeros(10**6)], [torch.zeros(10**7, device="meta")]
    assert steps_at_once("graph", small, 10**4) > 1
    assert steps_at_once("graph", small, 938) > 1  # an epoch of 60,000 examples, 64 at a time
    assert steps_at_once("graph", small, 200) == 1
    assert steps_at_once("graph", large, 10**4) == 1
    assert steps_at_once("eager", small, 10**4) == 1
    assert steps_at_once("compiled-graph", small, 10**4) == 1


def test_the_flag_of_a_device_is_put_up_by_what_is_not_finite_and_stays_up():
    flag = Flag(CPU, 3)
    guard = DeviceGuard(flag)
    for value, bad in [(1.0, 0), (math.inf, 1), (1.0, 1)]:
        assert guard.check([torch.tensor([value]), torch.ones(2)]).item() == bad
    assert guard.frozen_at() == 4
    assert DeviceGuard(Flag(CPU, 0)).check([torch.tensor([math.nan])]).item() == 1
