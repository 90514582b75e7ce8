"""Captured steps without a device: what a step computes is recorded op by op, and replayed on the same memory."""

import numpy as np
import pytest
import torch
from torch import nn

from gradlab import specs
from gradlab.data import Examples, Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.tasks.generative import Adversarial, PixelLikelihood
from gradlab.training import capture


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("plan", [{}, {"schedule": "cosine", "optimizer": "adamw"}], ids=str)
def test_replayed_steps_train_as_plain_ones_do(make_training, run, recordings, monkeypatch, plan, at_once):
    monkeypatch.setattr(capture, "_AT_ONCE", at_once)
    trainings = {}
    for mode in ("eager", "graph"):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Dropout(0.2), nn.Linear(6, 3))
        values = {"epochs": 12, "lr": 2.0**-6, "log_every": 24, "evaluate_every": 36, "keep": "last"}
        trainings[mode] = make_training(model=model, **values, **plan)
        trainings[mode].mode = mode
        run(trainings[mode])
    plain, replayed = trainings.values()
    assert {count for _, count in replayed.step.captured} == {1, at_once}
    assert len(recordings) == len(replayed.step.captured) > 1
    assert len(set(map(id, recordings))) == 1  # one pool for all shapes
    assert replayed.record.losses() == pytest.approx(plain.record.losses(), rel=1e-6)
    for name, value in plain.model.state_dict().items():
        torch.testing.assert_close(replayed.model.state_dict()[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("at_once", [1, 4])
def test_replayed_steps_hold_the_masks_of_pruned_weights(make_training, run, recordings, monkeypatch, at_once):
    monkeypatch.setattr(capture, "_AT_ONCE", at_once)
    models = {}
    for mode in ("eager", "graph"):
        torch.manual_seed(0)
        models[mode] = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        masks = {"0.weight": torch.rand(6, 4) < 0.5, "2.weight": torch.rand(3, 6) < 0.5}
        values = {"epochs": 12, "log_every": 24, "evaluate_every": 36, "keep": "last", "optimizer": "muon", "ema": 0.9}
        training = make_training(model=models[mode], masks=masks, **values)
        training.mode = mode
        run(training)
    assert {count for _, count in training.step.captured} == {1, at_once}
    for name, value in models["eager"].state_dict().items():
        replayed = models["graph"].state_dict()[name]
        torch.testing.assert_close(replayed, value, rtol=1e-4, atol=1e-5)
        if name in masks:
            assert not replayed[~masks[name]].any()
            assert replayed[masks[name]].all()


GENERATIVE = {
    "bounded discriminator": (Part("gan", {"spectral_norm": True}), Adversarial, {"loss": "hinge"}),
    "penalties": (Part("gan"), Adversarial, {"loss": "wasserstein", "r1": 0.1, "generator_lr": 2.0**-8}),
    "pixels": (Part("pixelcnn", {"layers": 1, "channels": 4, "dropout": 0.2}), PixelLikelihood, {"levels": 3}),
}


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("kind", GENERATIVE)
def test_replayed_steps_of_players_and_of_pixels_train_as_plain_ones_do(
    make_training, run, recordings, monkeypatch, kind, at_once
):
    monkeypatch.setattr(capture, "_AT_ONCE", at_once)
    part, task, knobs = GENERATIVE[kind]
    trainings = {}
    for mode in ("eager", "graph"):
        torch.manual_seed(0)
        examples = Examples.of(torch.randint(3, (45, 1, 4, 4)) / 2, torch.arange(45) % 3, np.arange(45))
        values = {"epochs": 12, "lr": 2.0**-7, "log_every": 24, "evaluate_every": 36, "ema": 0.9, "keep": "last"}
        model = build_model(part, specs.Picture(1, 4, 4), 3)
        task_of_it = task(Targets(classes=["a", "b", "c"], counts=[15] * 3), **knobs)
        trainings[mode] = make_training(model=model, task=task_of_it, train=examples, validation=examples, **values)
        trainings[mode].mode = mode
        run(trainings[mode])
    plain, replayed = trainings.values()
    assert {count for _, count in replayed.step.captured} == {1, at_once}
    for name, value in plain.model.state_dict().items():
        torch.testing.assert_close(replayed.model.state_dict()[name], value, rtol=1e-4, atol=1e-5)
