"""What only a CUDA device can show: captured steps, the device-side guard, mixed precision, exact resume."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.errors import TrainingError
from gradlab.tasks import Classify
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")


def make(mode="graph", model=None, bad_row=None, observers=(), **plan):
    torch.manual_seed(0)
    x, y = torch.randn(500, 20), torch.randint(0, 4, (500,))
    if bad_row is not None:
        x[bad_row] = float("nan")
    examples = Examples(x, y, np.arange(500)).to(CUDA)
    model = model or nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 4))
    settled = Plan(**plan_schema.resolve({"batch_size": 64, "epochs": 5, "deterministic": True, **plan}, "train"))
    task = Classify(Targets(classes=list("abcd")))
    held = Examples(x[:100], y[:100], np.arange(100)).to(CUDA) if bad_row is None else None
    return Training(model.to(CUDA), task, examples, held, settled, mode=mode, observers=observers)


class Lines(Observer):
    def __init__(self):
        self.lines = []

    def log(self, training, line):
        self.lines.append({k: line[k] for k in ("step", "split", "loss")})


def run(training):
    with settings(CUDA, 1, training.plan):
        training.run()
    return training


def weights(training):
    return {k: v.cpu() for k, v in training.model.state_dict().items()}


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "momentum", "nesterov", "sgd"])
def test_a_captured_step_trains_like_an_eager_one(optimizer):
    one, other = (
        run(make(mode, optimizer=optimizer, lr=0.01, weight_decay=0.01, schedule="cosine", keep="last"))
        for mode in ("eager", "graph")
    )
    for name, value in weights(one).items():
        torch.testing.assert_close(weights(other)[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_training_resumed_in_mid_epoch_ends_with_the_same_bits(mode, precision):
    class Snapshot(Observer):
        every = 13

        def step(self, training):
            if training.progress.step == 13:
                self.taken = training.checkpoint()

    snapshot, lines, again = Snapshot(), Lines(), Lines()
    whole = run(make(mode, observers=[snapshot, lines], precision=precision, log_every=5))
    resumed = make(mode, observers=[again], precision=precision, log_every=5)
    with settings(CUDA, 1, resumed.plan):
        resumed.restore(snapshot.taken)
        resumed.run()
    assert [line for line in lines.lines if line["step"] > 13] == again.lines
    for name, value in weights(whole).items():
        assert torch.equal(weights(resumed)[name], value), name


def test_the_same_plan_twice_gives_the_same_losses():
    seen = []
    for _ in range(2):
        lines = Lines()
        run(make(observers=[lines]))
        seen.append(json.dumps(lines.lines))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_bad_gradient_freezes_the_weights_before_its_step_and_names_the_module(mode):
    model = nn.Sequential(nn.Linear(20, 4))
    training = make(mode, model=model, bad_row=123, log_every=8, keep="last")
    with pytest.raises(TrainingError, match=r"Training diverged in step (\d+).*output of 0 \(Linear\)"):
        run(training)
    assert all(w.isfinite().all() for w in weights(training).values())
    x, *_ = list(training._batches(0))[training.progress.step]
    assert x.isnan().any()


def test_mixed_precision_reaches_the_loss_of_full_precision():
    results = {}
    for precision in ("float32", "bf16"):
        lines = Lines()
        run(make("graph", observers=[lines], precision=precision, epochs=20, lr=0.01))
        results[precision] = [line["loss"] for line in lines.lines if line["split"] == "train"][-1]
    assert results["bf16"] == pytest.approx(results["float32"], rel=0.2)
    assert results["bf16"] != results["float32"]
