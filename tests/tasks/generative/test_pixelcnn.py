"""The exact likelihood of pictures beside closed forms and torch.distributions."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical
from torch.testing import assert_close

import gradlab as gl
from gradlab.data import Examples, Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Picture
from gradlab.tasks.generative.pixelcnn import PixelLikelihood

NUMBERS = Targets(mean=[0.0], std=[1.0])


def pictures(count=40, levels=4, shape=(1, 3, 3)):
    torch.manual_seed(0)
    x = torch.randint(levels, (count, *shape)) / (levels - 1)
    return Examples.of(x, torch.zeros(count), np.arange(count))


def test_a_model_that_knows_nothing_costs_the_logarithm_of_the_levels():
    task, model = PixelLikelihood(NUMBERS, levels=4), build_model(Part("pixelcnn"), Picture(1, 3, 3), 4)
    torch.nn.init.zeros_(model.head.weight), torch.nn.init.zeros_(model.head.bias)
    figures = gl.tasks.evaluate(model, task, pictures())
    assert figures["loss"] == pytest.approx(9 * math.log(4), rel=1e-5)
    assert figures["bits_per_dim"] == pytest.approx(2, rel=1e-5)


def test_it_is_the_sum_over_pixels_of_their_logarithms():
    task, model = PixelLikelihood(NUMBERS, levels=4), build_model(Part("pixelcnn"), Picture(2, 3, 3), 4)
    split = pictures(shape=(2, 3, 3))
    total, count = task.surprise(model, split.batch(slice(0, 5)))
    levels = (split.inputs[:5] * 3).round()
    each = Categorical(logits=model(split.inputs[:5]).movedim(1, -1)).log_prob(levels)
    assert count == 5
    assert_close(total, -each.sum())


def test_levels_that_the_pixels_have_are_kept_exactly():
    """Digits have 17."""
    task, levels = PixelLikelihood(NUMBERS), torch.arange(17)
    assert task.quantised(levels / 16).tolist() == levels.tolist()
    assert PixelLikelihood(NUMBERS, levels=256).quantised(torch.arange(256) / 255).tolist() == list(range(256))
    assert PixelLikelihood(NUMBERS, levels=2).quantised(torch.tensor([-0.2, 0.4, 0.6, 1.3])).tolist() == [0, 0, 1, 1]


def test_the_baseline_has_each_pixel_by_its_frequencies():
    task, split = PixelLikelihood(NUMBERS, levels=4), pictures(count=300)
    model = task.baselines(split, torch.nn.Identity())["independent pixels"]
    levels = (split.inputs * 3).round().long().flatten(1)
    wanted = 0.0
    for pixel in levels.T.tolist():
        shares = (np.bincount(pixel, minlength=4) + 1) / 304
        wanted -= np.log(shares[pixel]).mean()
    assert gl.tasks.evaluate(model, task, split)["loss"] == pytest.approx(wanted, rel=1e-5)
    torch.manual_seed(0)
    drawn = (task.sample(model, 20_000) * 3).round().long()
    assert drawn.shape == (20_000, 1, 3, 3)
    shares = torch.nn.functional.one_hot(drawn, 4).double().mean(0)
    assert_close(shares.movedim(-1, 0), model.output.exp().double(), rtol=0, atol=0.015)


def test_what_is_drawn_is_as_the_model_sees_its_inputs():
    task, model = PixelLikelihood(NUMBERS, levels=5), build_model(Part("pixelcnn"), Picture(1, 3, 3), 5)
    drawn = task.sample(model, 30)
    assert set(drawn.unique().tolist()) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    with pytest.raises(gl.GradlabError, match="are not a function of noise"):
        task.noise(model, 3)


def test_it_learns_that_a_pixel_repeats_the_one_before():
    """Independent pixels cost log 2 each; of these all but the first follow."""
    torch.manual_seed(0)
    x = torch.randint(2, (200, 1, 1, 1)).float().expand(200, 1, 3, 3).contiguous()
    split = Examples.of(x, torch.zeros(200), np.arange(200))
    task, model = PixelLikelihood(NUMBERS, levels=2), build_model(Part("pixelcnn", {"layers": 1}), Picture(1, 3, 3), 2)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        total, count = task.surprise(model, split.batch(slice(0, 200)))
        (total / count).backward()
        optimizer.step()
    loss = gl.tasks.evaluate(model, task, split)["loss"]
    baseline = gl.tasks.evaluate(task.baselines(split, model)["independent pixels"], task, split)["loss"]
    assert math.log(2) - 1e-2 < loss < 0.8 < 6 < baseline
    drawn = task.sample(model, 50).flatten(1)
    assert (drawn == drawn[:, :1]).double().mean() > 0.95


def test_a_model_that_sees_what_it_predicts_is_refused():
    """A first kernel that is not strict would make every picture almost certain."""
    task, split = PixelLikelihood(NUMBERS, levels=4), pictures()
    model = build_model(Part("pixelcnn"), Picture(1, 3, 3), 4)
    task.check(model, split)
    honest = model.left.forward
    model.left.forward = lambda x: honest(x.roll(-1, 3))
    with pytest.raises(gl.GradlabError, match="PixelCNN sees pixels that it should predict"):
        task.check(model, split)
