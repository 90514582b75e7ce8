"""On CUDA: a state that is carried inside a captured step, and saved with it."""

import numpy as np
import pytest
import torch

from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.models.language.recurrent import RecurrentLanguageModel
from gradlab.tasks import Language
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.observers import Observer
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")
CELLS = ["rnn", "gru", "lstm"]


def make(cell, mode, observers=(), carry=True, layers=2, dropout=0.0, **plan):
    tokens = np.random.default_rng(0).integers(11, size=1700).cumsum() % 11
    inputs = Windows(tokens.astype(np.uint8), 16).resident(CUDA)  # 106 windows: 13 steps an epoch along 8 strips
    examples = WindowExamples.over(inputs)
    torch.manual_seed(0)
    model = RecurrentLanguageModel(11, dim=8, layers=layers, cell=cell, dropout=dropout).to(CUDA)
    # A rate that is the same number in single precision, in which a captured step has it.
    values = {"batch_size": 8, "epochs": 3, "lr": 2.0**-6, "log_every": 1, "clip": 1.0, "deterministic": True}
    settled = Plan(**plan_schema.resolve({**values, "carry": carry, "keep": "last", **plan}, "train"))
    task = Language(Targets(tokens=11, token_bytes=[1] * 11))
    return Training(model, task, examples, None, settled, mode=mode, observers=observers)


class Watch(Observer):
    """Every loss, and the checkpoint of one step."""

    def __init__(self, step=5):
        self.every, self.losses = step, []

    def log(self, training, line):
        self.losses.append(line["loss"])

    def step(self, training):
        if training.progress.step == self.every:
            self.taken = training.checkpoint()


def run(training, checkpoint=None):
    with settings(CUDA, 1, training.plan):
        if checkpoint is not None:
            training.restore(checkpoint)
        training.run()
    return training


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_captured_step_carries_as_an_eager_one_does(cell, precision):
    eager, graph, apart = Watch(), Watch(), Watch()
    one = run(make(cell, "eager", [eager], precision=precision))
    other = run(make(cell, "graph", [graph], precision=precision))
    run(make(cell, "eager", [apart], precision=precision, carry=False))
    rtol = 1e-5 if precision == "float32" else 1e-2
    assert graph.losses == pytest.approx(eager.losses, rel=rtol)
    torch.testing.assert_close(other.stream.carried.state, one.stream.carried.state, rtol=10 * rtol, atol=rtol)
    assert eager.losses != pytest.approx(apart.losses, rel=rtol)


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("stop", "shape"), [(2, {}), (5, {"dropout": 0.2}), (20, {})])
def test_it_resumes_in_mid_epoch_with_the_same_bits(cell, mode, stop, shape):
    whole, again = Watch(stop), Watch()
    one = run(make(cell, mode, [whole], **shape))
    other = run(make(cell, mode, [again], **shape), whole.taken)
    assert again.losses == whole.losses[stop:]
    for key, value in one.model.state_dict().items():
        assert torch.equal(value, other.model.state_dict()[key]), key
