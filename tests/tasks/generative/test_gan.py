"""Adversarial losses beside their formulas, penalties beside closed forms, and figures of samples."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.data import Examples, Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Table
from gradlab.tasks.generative.gan import Adversarial
from gradlab.tasks.generative.modes import mode_figures

LABELLED = Targets(classes=["a", "b"], counts=[2, 2])


class Line(nn.Module):
    """D(x) = w · x and G(z) = z + s, whose losses and slopes are known."""

    def __init__(self, slope, shift=0.0):
        super().__init__()
        self.generator, self.discriminator = nn.Linear(2, 2), nn.Linear(2, 1, bias=False)
        self.generator.load_state_dict({"weight": torch.eye(2), "bias": torch.full([2], shift)})
        self.discriminator.load_state_dict({"weight": torch.tensor([slope])})

    def noise(self, count):
        return torch.randn(count, 2)


def losses(model, x, **knobs):
    """Of both players, and the samples that they were about."""
    task = Adversarial(LABELLED, **knobs)
    objectives = task.objectives()
    torch.manual_seed(3)
    fake = model.generator(model.noise(len(x))).detach()
    torch.manual_seed(3)
    first = objectives["discriminator"].loss(model, {"inputs": x})
    torch.manual_seed(3)
    second = objectives["generator"].loss(model, {"inputs": x})
    return (
        {name: (total / count).item() for name, (total, count) in first.items()},
        (second[0] / second[1]).item(),
        fake,
    )


SLOPE = [0.6, -1.7]


def test_losses_are_their_formulas():
    x, model = torch.randn(50, 2).double().float(), Line(SLOPE, shift=0.4)
    w = np.array(SLOPE)
    for kind in ("non-saturating", "hinge", "wasserstein"):
        first, second, fake = losses(model, x, loss=kind)
        real, drawn = x.numpy() @ w, fake.numpy() @ w
        wanted = {
            "non-saturating": (np.log1p(np.exp(-real)) + np.log1p(np.exp(drawn)), np.log1p(np.exp(-drawn))),
            "hinge": (np.maximum(0, 1 - real) + np.maximum(0, 1 + drawn), -drawn),
            "wasserstein": (drawn - real, -drawn),
        }[kind]
        assert (first["discriminator"], second) == pytest.approx([w.mean() for w in wanted], rel=1e-4)
        assert set(first) == {"discriminator", *(["penalty"] if kind == "wasserstein" else [])}


def test_penalties_are_those_of_a_known_slope():
    x, length = torch.randn(20, 2), np.hypot(*SLOPE)
    first, _, _ = losses(Line(SLOPE), x, r1=0.3, loss="wasserstein", penalty=7.0)
    assert first["r1"] == pytest.approx(0.15 * length**2, rel=1e-5)
    assert first["penalty"] == pytest.approx(7 * (length - 1) ** 2, rel=1e-5)


@pytest.mark.parametrize("knobs", [{"r1": 1.0}, {"loss": "wasserstein"}])
def test_penalties_can_be_learned_from(knobs):
    model = build_model(Part("gan"), Table(2), 0)
    found = Adversarial(LABELLED, **knobs).objectives()["discriminator"].loss(model, {"inputs": torch.randn(8, 2)})
    name = "r1" if "r1" in knobs else "penalty"
    grads = torch.autograd.grad(found[name][0], list(model.discriminator.parameters()), allow_unused=True)
    assert grads[0].abs().sum() > 0


def test_each_player_moves_its_own_and_the_generator_may_have_a_rate_of_its_own():
    objectives = Adversarial(LABELLED, generator_lr=1e-4).objectives()
    assert list(objectives) == ["discriminator", "generator"]
    assert objectives["generator"].train == {"lr": 1e-4}
    assert objectives["discriminator"].moved("discriminator.0.weight")
    assert not objectives["discriminator"].moved("generator.0.weight")


def test_modes_that_are_missed_and_points_between_them_are_counted():
    torch.manual_seed(0)
    labels = torch.arange(4000) % 4
    centres = torch.tensor([[0.0, 0], [10, 0], [0, 10], [10, 10]])
    x = centres[labels] + 0.5 * torch.randn(4000, 2)
    same = mode_figures(x, labels, x)
    within = 1 - np.exp(-4.5)  # of a normal distribution in the plane, within three deviations
    assert same == {"coverage": pytest.approx(within, abs=0.01), "modes": 4, "near": pytest.approx(within, abs=0.01)}
    collapsed = mode_figures(x, labels, x[labels == 2])
    assert collapsed["modes"] == 1
    assert collapsed["coverage"] == pytest.approx(within / 4, abs=0.01)
    assert collapsed["near"] == pytest.approx(within, abs=0.01)
    assert mode_figures(x, labels, torch.full((10, 2), 5.0))["near"] == 0


def test_it_is_judged_by_samples_of_the_generator():
    task, model = Adversarial(LABELLED, judged_by="coverage"), Line(SLOPE, shift=5.0)
    x = torch.cat([torch.randn(500, 2) + 5, torch.randn(500, 2) - 5])
    split = Examples.of(x, torch.arange(1000) // 500, np.arange(1000))
    figures = gl.tasks.evaluate(model, task, split)
    assert list(figures) == task.figure_names
    assert figures["modes"] == 1
    assert figures["coverage"] == pytest.approx(0.5, abs=0.02)
    assert all(task.higher_is_better(name) == (name != "distance") for name in figures)
    assert gl.tasks.evaluate(model, task, split) == figures


def test_samples_are_made_of_noise():
    task, model = Adversarial(LABELLED), build_model(Part("gan"), Table(2), 0)
    z = task.noise(model, 4)
    torch.manual_seed(0)
    one = task.sample(model, 4)
    torch.manual_seed(0)
    assert_close(one, model.generator(task.noise(model, 4)))
    assert z.shape == (4, 16)


def test_coverage_needs_classes():
    with pytest.raises(gl.GradlabError, match="these examples have no classes"):
        Adversarial(Targets(), judged_by="coverage")
