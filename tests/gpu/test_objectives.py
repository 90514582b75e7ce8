"""On CUDA: objectives of every kind in captured steps: counts that depend on values, several players, named losses."""

import pytest
import torch
from torch import nn

from gradlab.data import Examples
from gradlab.errors import TrainingError
from gradlab.tasks import Objective, Task
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")


class Padded(Task):
    """Cross-entropy where the target is no padding: every batch has another count."""

    def objectives(self):
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model, batch):
        real = batch["targets"] >= 0
        total = nn.functional.cross_entropy(model(batch["inputs"]), batch["targets"], ignore_index=-1, reduction="sum")
        return total, real.sum()


class Turns(Task):
    """Two players, the second with two named losses and a rate of its own."""

    def objectives(self):
        return {
            "first": Objective(loss=self.first, moves="0"),
            "second": Objective(loss=self.second, moves="2", train={"lr": 2.0**-8, "optimizer": "momentum"}),
        }

    def first(self, model, batch):
        return nn.functional.cross_entropy(model(batch["inputs"]), batch["targets"].clamp(0), reduction="sum"), 64

    def second(self, model, batch):
        z = model(batch["inputs"])
        return {"size": (z.abs().sum(), z.numel()), "spread": ((z - batch["shift"]).square().sum(), len(z))}


class Lines(Observer):
    def __init__(self):
        self.lines = []

    def log(self, training, line):
        self.lines.append({k: v for k, v in line.items() if isinstance(v, float) and k != "seconds"})


def trained(task, mode, bad=False, **plan):
    torch.manual_seed(0)
    x, y = torch.randn(640, 20), torch.randint(-1, 4, (640,))
    y[:320] = torch.where(torch.rand(320) < 0.7, -1, y[:320])
    shift = torch.randn(640, 1)
    if bad:
        shift[100] = float("nan")
    examples = Examples.by_name({"inputs": x, "targets": y, "shift": shift}).to(CUDA)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4)).to(CUDA)
    # A rate that is the same number in single precision, in which a captured step has it.
    values = {"batch_size": 64, "epochs": 4, "lr": 2.0**-7, "log_every": 1, "deterministic": True, **plan}
    lines = Lines()
    settled = Plan(**plan_schema.resolve(values, "train"))
    training = Training(model, task, examples, None, settled, mode=mode, observers=[lines])
    with settings(CUDA, 1, training.plan):
        training.run()
    return training, lines.lines


@pytest.mark.parametrize("plan", [{}, {"accumulate": 3}, {"precision": "bf16"}, {"ema": 0.9, "clip": 0.5}])
@pytest.mark.parametrize("task", [Padded, Turns])
def test_a_captured_step_trains_like_an_eager_one(task, plan):
    (one, eager), (other, graph) = (trained(task(), mode, **plan) for mode in ("eager", "graph"))
    assert [line.keys() for line in graph] == [line.keys() for line in eager]
    for a, b in zip(eager, graph, strict=True):
        assert b == pytest.approx(a, rel=1e-2 if plan.get("precision") else 1e-5)
    tolerance = 1e-2 if plan.get("precision") else 1e-5
    torch.testing.assert_close(
        list(other.model.parameters()), list(one.model.parameters()), rtol=tolerance, atol=tolerance
    )


def test_the_count_of_a_replayed_step_is_that_of_its_own_batch():
    _, lines = trained(Padded(), "graph", lr=1e-9)
    _, eager = trained(Padded(), "eager", lr=1e-9)
    assert [line["loss"] for line in lines] == pytest.approx([line["loss"] for line in eager], rel=1e-6)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_bad_gradient_of_the_second_player_ends_the_training_at_its_step(mode):
    with pytest.raises(TrainingError, match=r"diverged in step \d+ .*'shift' of the batch has nan"):
        trained(Turns(), mode, bad=True, log_every=20)
