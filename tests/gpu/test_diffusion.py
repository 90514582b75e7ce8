"""On CUDA: steps of diffusion can be captured, and a replayed network draws what the network itself does."""

from dataclasses import replace

import pytest
import torch

from gradlab import specs
from gradlab.data import Examples, Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.sampling.diffusion import replayed
from gradlab.tasks.generative import Diffusion, Request
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")
TASK = Diffusion(Targets(classes=["a", "b"], counts=[1, 1]), conditional=True, sampling_steps=10)


def network():
    torch.manual_seed(0)
    model = build_model(Part("unet", {"width": 16}), specs.Picture(1, 8, 8), 2).to(CUDA)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_captured_step_learns_what_an_eager_one_does(precision):
    torch.manual_seed(0)
    examples = Examples.by_name({"inputs": torch.randn(512, 1, 8, 8), "targets": torch.arange(512) % 2}).to(CUDA)
    losses = []
    for mode in ("eager", "graph"):
        model = network()
        values = {"batch_size": 64, "steps": 40, "lr": 2.0**-10, "ema": 0.9, "precision": precision}
        plan = Plan(**plan_schema.resolve(values, "train"))
        torch.manual_seed(1)
        training = Training(model, TASK, examples, None, plan, mode=mode)
        with settings(CUDA, 1, plan):
            training.run()
        losses.append(TASK.evaluate(model.eval(), examples)["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@pytest.mark.parametrize(("precision", "off"), [("float32", 1e-3), ("bf16", 0.05)])
@pytest.mark.parametrize("guidance", [1.0, 2.5])
def test_a_replayed_network_draws_what_the_network_does(guidance, precision, off, monkeypatch):
    model, task = network(), replace(TASK, precision=precision)
    noise, labels = task.noise(model, 6), torch.arange(6, device=CUDA) % 2
    request = Request(labels=labels, guidance=guidance)
    got = [task.from_noise(model, noise, request) for _ in range(2)]
    other = task.from_noise(model, noise, Request(labels=1 - labels, guidance=guidance))
    assert model in replayed._recordings
    monkeypatch.setattr(replayed, "is_replayable", lambda model: False)
    wanted = task.from_noise(model, noise, request)
    for samples in got:
        torch.testing.assert_close(samples, wanted, rtol=off, atol=off)
    assert not torch.allclose(other, wanted, atol=1e-2)


def test_weights_that_were_changed_in_place_are_those_that_draw():
    model = network()
    noise = TASK.noise(model, 4)
    request = Request(labels=torch.zeros(4, dtype=torch.int64))
    before = TASK.from_noise(model, noise, request)
    with torch.no_grad():
        model.last.weight.mul_(2.0)
    assert not torch.allclose(before, TASK.from_noise(model, noise, request))
