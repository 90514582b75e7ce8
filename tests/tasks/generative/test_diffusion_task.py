"""The task of diffusion: what is learned, what is asked for, and what is refused."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from gradlab import specs
from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.models import build_model
from gradlab.models.generative.pca import pca_gaussian
from gradlab.registry import Part
from gradlab.tasks import compare, evaluate
from gradlab.tasks.generative import Diffusion, Request

CLASSES = Targets(classes=["a", "b", "c"], counts=[10, 20, 70])
NONE = Targets(mean=[0.0], std=[1.0])


def network(task, shape=2, seed=0):
    torch.manual_seed(seed)
    model = build_model(Part("score-mlp", {"dim": 16, "layers": 1}), specs.Table(shape), task.outputs).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


def batch(count=200):
    return {"inputs": torch.randn(count, 2), "targets": torch.arange(count) % 3}


class Perfect(nn.Module):
    """What is best said of standard normal data, whatever is asked: E[target | x] = slope · x."""

    shape = (2,)

    def __init__(self, task):
        super().__init__()
        self.task = task

    def forward(self, x, time, labels):
        process = self.task.process
        rows = []
        for row, t in zip(x, time.tolist(), strict=True):
            level = process.level(t)
            size = (level.alpha**2 + level.sigma**2) ** 0.5  # x is scaled to spread 1
            rows.append(level.target(self.task.target, level.alpha / size * row, level.sigma / size * row))
        return torch.stack(rows)


@pytest.mark.parametrize("target", ["noise", "data", "velocity"])
@pytest.mark.parametrize("schedule", ["linear", "cosine", "vp", "ve", "flow"])
def test_the_loss_of_the_best_answer_is_the_variance_that_is_left(schedule, target):
    if schedule == "flow" and target == "noise":
        pytest.skip("refused")
    task = Diffusion(NONE, schedule=schedule, target=target)
    torch.manual_seed(0)
    total, count = task.loss(Perfect(task), batch(4000))
    left = 0.0
    for i in range(1000):
        level = task.process.levels(torch.tensor([(i + 0.5) / 1000]))
        a, s = level.alpha.item(), level.sigma.item()
        weights = {"noise": (0.0, 1.0), "data": (1.0, 0.0)}
        on_data, on_noise = weights.get(target, (level.alpha_rate.item(), level.sigma_rate.item()))
        left += (on_data**2 + on_noise**2 - (on_data * a + on_noise * s) ** 2 / (a**2 + s**2)) / 1000
    assert count == 8000
    assert total.item() / count == pytest.approx(left, rel=0.06, abs=1e-3)


def test_an_evaluation_is_the_same_each_time_and_draws_nothing_from_a_training():
    task = Diffusion(CLASSES, conditional=True)
    model, split = network(task), Examples.by_name(batch())
    state = torch.get_rng_state()
    assert evaluate(model, task, split) == evaluate(model, task, split)
    assert torch.equal(torch.get_rng_state(), state)


def test_times_lie_evenly_in_every_batch():
    task = Diffusion(NONE, schedule="flow")
    times = task._levels(torch.zeros(100, 1, 2, 2)).time
    assert times.shape == (100, 1, 1, 1)
    assert (times.flatten().sort().values - torch.linspace(0, 1, 100)).abs().max() < 0.03
    assert not torch.equal(times, task._levels(torch.zeros(100, 1, 2, 2)).time)


def test_classes_are_not_told_now_and_then_in_training_alone():
    task = Diffusion(CLASSES, conditional=True, drop_label=0.25)
    model, told = network(task), batch(4000)
    assert torch.equal(task._told(model, told), told["targets"])
    labels = task._told(model.train(), told)
    left = labels == task.outputs
    assert 0.2 < left.float().mean() < 0.3
    assert torch.equal(labels[~left], told["targets"][~left])
    assert Diffusion(CLASSES)._told(model, told) is None


@pytest.mark.parametrize("sampler", ["ddpm", "ddim", "dpm", "euler", "heun"])
def test_a_trajectory_ends_with_the_samples(sampler):
    task = Diffusion(CLASSES, conditional=True, sampler=sampler, sampling_steps=5, guidance=2.0)
    model = network(task)
    torch.manual_seed(1)
    samples = task.sample(model, 6)
    torch.manual_seed(1)
    states = list(task.trajectory(model, 6))
    assert len(states) == 5
    assert samples.shape == (6, 2)
    assert not samples.requires_grad
    assert torch.equal(states[-1], samples)


def test_samples_follow_from_their_noise_and_from_what_is_asked():
    task = Diffusion(CLASSES, conditional=True, sampling_steps=8)
    model, labels = network(task), torch.tensor([0, 1, 2, 0])
    noise = task.noise(model, 4)
    first = task.from_noise(model, noise, Request(labels=labels))
    assert torch.equal(first, task.from_noise(model, noise, Request(labels=labels)))
    for other in (
        Request(labels=labels.flip(0)),
        Request(labels=labels, guidance=3.0),
        Request(labels=labels, steps=3),
        Request(labels=labels, sampler="ddim"),
    ):
        assert not torch.allclose(first, task.from_noise(model, noise, other))


def test_inpainting_keeps_what_is_known():
    task = Diffusion(NONE, schedule="flow", sampling_steps=4)
    model, x = network(task), torch.randn(5, 2)
    mask = torch.tensor([[True, False]]).expand(5, 2)
    filled = task.inpaint(model, x, mask)
    assert torch.equal(filled[mask], x[mask])
    assert not torch.allclose(filled[~mask], x[~mask])


def test_nats_are_those_of_the_density_that_a_perfect_model_knows_in_raw_units():
    log_scale = 0.7  # a volume of prepared inputs is e^0.7 of raw ones
    task = Diffusion(replace(NONE, log_scale=log_scale), schedule="vp")
    torch.manual_seed(0)
    split = Examples.by_name({"inputs": torch.randn(10, 2)})
    figures = evaluate(Perfect(task), task, split, finished=True)
    normal = torch.distributions.Normal(0.0, 1.0)
    wanted = log_scale - normal.log_prob(split.inputs[:]).sum(1).mean().item()
    assert figures["nats"] == pytest.approx(wanted, abs=5e-3)
    assert figures["bits_per_dim"] == pytest.approx(figures["nats"] / (2 * math.log(2)))
    one = pca_gaussian(torch.randn(5000, 2), dims=2)  # a baseline that knows nearly the same
    assert compare({"one": one}, task, split)["one"]["nats"] == pytest.approx(wanted, abs=0.1)
    logged = evaluate(Perfect(task), Diffusion(replace(NONE, log_scale=None), schedule="vp"), split, finished=True)
    assert "nats" not in logged  # each point has a volume of its own
    assert "raw units" in task.signatures_of(figures)["nats"]
    assert task.signatures_of(["loss"]) == {}
    assert not task.higher_is_better("nats")
    assert "nats" not in evaluate(network(task, shape=9), task, Examples.by_name({"inputs": torch.randn(5, 9)}))


@pytest.mark.parametrize(
    ("values", "request_", "message"),
    [
        ({}, {"guidance": 2.0}, "This model is not class-conditional, so that nothing guides it"),
        ({}, {"labels": torch.tensor([0])}, "is not class-conditional"),
        ({}, {"steps": 10**30}, "is more than the 100,000 steps"),
        ({}, {"steps": 0}, "--steps 0: samples are drawn in at least one step"),
        ({"conditional": True}, {"guidance": math.inf}, "--guidance inf"),
        ({}, {"sampler": "ddmp"}, "There is no sampler 'ddmp'. Did you mean 'ddpm'"),
        ({"steps": 100}, {"steps": 101}, "at most as many steps as the noise has, 100 here; 101 were asked for"),
        ({"conditional": True, "drop_label": 0.0}, {"guidance": 2.0}, "this one always was .task.drop_label=0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, request_, message):
    with pytest.raises(GradlabError, match=message):
        Diffusion(CLASSES, **values).check_request(Request(**request_))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"schedule": "flow", "target": "noise"}, "task.target=noise does not go with task.schedule=flow"),
        ({"guidance": 2.0}, "task.guidance=2 guides to classes.*set task.conditional=true"),
        ({"sampler": "best"}, "There is no sampler 'best'"),
        ({"steps": 10}, "at most as many steps as the noise has, 10 here; 50 were asked for"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(values, message):
    with pytest.raises(GradlabError, match=message):
        Diffusion(CLASSES, **values)


def test_a_model_that_is_told_no_time_is_refused():
    with pytest.raises(GradlabError, match="such as model=unet or model=score-mlp"):
        Diffusion(NONE).check(nn.Linear(2, 2), None)
    alone = nn.Linear(2, 2)
    alone.shape = (2,)
    with pytest.raises(GradlabError, match="such as model=unet or model=score-mlp"):
        Diffusion(NONE).check(alone, None)


def test_classes_need_data_that_have_them():
    with pytest.raises(GradlabError, match=r"needs examples with classes.*data=images"):
        Diffusion(NONE, conditional=True)


def test_ways_between_noises_need_a_sampler_that_draws_nothing():
    Diffusion(NONE).check_walk(Request())
    Diffusion(NONE, sampler="ddpm").check_walk(Request(sampler="ddim"))
    for task, request_ in ((Diffusion(NONE), Request(sampler="ddpm")), (Diffusion(NONE, sampler="ddpm"), Request())):
        with pytest.raises(GradlabError, match="Walk between noises with --sampler ddim or dpm"):
            task.check_walk(request_)
