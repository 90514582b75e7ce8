"""Pruned weights stay exactly 0 in captured steps, several at once, and in the kernels of the small update."""

import numpy as np
import pytest
import torch
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.tasks import Classify
from gradlab.training import capture, small_update
from gradlab.training.environment import settings
from gradlab.training.loop import Training
from gradlab.training.magnitude import magnitude_masks
from gradlab.training.plan import Plan, plan_schema

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")


@pytest.mark.parametrize("rule", ["adam", "muon", "momentum"])
def test_replayed_steps_hold_masks_as_plain_ones_do(rule, monkeypatch):
    monkeypatch.setattr(capture, "_AT_ONCE_STEPS", 0)
    monkeypatch.setattr(small_update, "_STEPS", 0)
    x, y = torch.randn(512, 20), torch.randint(0, 4, (512,))
    examples = Examples.of(x, y, np.arange(512)).to(CUDA)
    values = {
        "batch_size": 8,
        "epochs": 3,
        "log_every": 64,
        "optimizer": rule,
        "lr": 0.01,
        "weight_decay": 0.01,
        "ema": 0.9,
    }
    plan = Plan(**plan_schema.resolve({**values, "deterministic": True}, "train"))
    models = {}
    for mode in ("eager", "graph"):
        torch.manual_seed(0)
        models[mode] = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 4)).to(CUDA)
        weights = {name: p for name, p in models[mode].named_parameters() if p.ndim == 2}
        masks = magnitude_masks(weights, 0.3, per_layer=True)
        task = Classify(Targets(classes=list("abcd")))
        training = Training(models[mode], task, examples, None, plan, mode=mode, masks=masks)
        with settings(CUDA, 1, plan):
            training.run()
    assert {count for _, count in training.step.captured} == {1, training.at_once}
    for name, value in models["eager"].state_dict().items():
        replayed = models["graph"].state_dict()[name].cpu()
        torch.testing.assert_close(replayed, value.cpu(), rtol=1e-2, atol=1e-3)
        if name in masks:
            assert not replayed[~masks[name]].any()
            assert replayed[masks[name]].all()
