"""On CUDA: samples are drawn between captured steps and by a replayed network, without touching the training."""

import pytest
import torch

from gradlab import specs
from gradlab.data import Examples, Preparation, Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.run.sample_files import read_samples
from gradlab.tasks.generative import Adversarial, Diffusion, VariationalAutoencoder
from gradlab.training.driver import channels_last
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.sample_log import SampleLog

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")
TARGETS = Targets(classes=["a", "b"], counts=[1, 1])
KINDS = {
    "diffusion": (Diffusion(TARGETS, conditional=True, sampler="ddpm", sampling_steps=4), Part("unet", {"width": 16})),
    "gan": (Adversarial(TARGETS), Part("conv-gan", {"channels": 8})),
    "vae": (VariationalAutoencoder(TARGETS), Part("vae", {"latent": 4, "hidden": [32]})),
}


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_is_the_same_to_the_bit_with_and_without(kind, mode, tmp_path):
    task, part = KINDS[kind]
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(512, 1, 8, 8, generator=generator)
    examples = Examples.by_name({"inputs": inputs, "targets": torch.arange(512) % 2}).to(CUDA)
    values = {"batch_size": 64, "steps": 200, "ema": 0.9, "deterministic": True}
    plan = Plan(**plan_schema.resolve(values, "train"))
    ends = []
    for observers in ([], [SampleLog(tmp_path, task, Preparation())]):
        torch.manual_seed(0)
        model = build_model(part, specs.Picture(1, 8, 8), task.outputs).to(CUDA)
        channels_last(model)  # as for every training
        with settings(CUDA, 1, plan):
            Training(model, task, examples, None, plan, mode=mode, observers=observers).run()
            ends.append({**model.state_dict(), "next random numbers": torch.rand(4, device=CUDA)})
    for name, value in ends[0].items():
        assert torch.equal(ends[1][name], value), name
    drawn = read_samples(tmp_path, (1, 8, 8), 2)
    assert list(drawn) == [0, 4, 8, 16, 32, 64, 128, 200]
    assert len({one.x.tobytes() for one in drawn.values()}) == 8
