"""Samplers of diffusion models against closed forms: normal data have a denoiser that is known."""

import math

import pytest
import torch
from torch import nn

from gradlab.models import build_model
from gradlab.nn.diffusion import Chain, linear_betas, schedule
from gradlab.registry import Part
from gradlab.sampling.diffusion import (
    SAMPLERS,
    Guided,
    ddim,
    ddpm,
    dpm,
    euler,
    heun,
    inpainted,
    log_likelihood,
    read_by,
    way_to_noise,
)
from gradlab.sampling.diffusion.replayed import Recording, network
from gradlab.specs import Picture

NAMES = ["linear", "cosine", "vp", "ve", "flow"]
MEAN = torch.tensor([0.5, -1.0], dtype=torch.float64)
COVARIANCE = torch.tensor([[0.6, 0.4], [0.4, 0.9]], dtype=torch.float64)


def of_normal(x, level):
    """E[x₀ | x] and E[ε | x] where x₀ is normal."""
    spread = level.alpha**2 * COVARIANCE + level.sigma**2 * torch.eye(2, dtype=torch.float64)
    whitened = torch.linalg.solve(spread, (x - level.alpha * MEAN).T).T
    return MEAN + level.alpha * whitened @ COVARIANCE, level.sigma * whitened


def said(kind):
    return lambda x, level: level.target(kind, *of_normal(x, level))


def last(steps):
    *_, end = steps
    return end


def transported(noise, level):
    """Where the differential equation brings noise: the normal distribution of the data, by the same quantiles."""
    values, axes = torch.linalg.eigh(COVARIANCE)
    stretch = (values / (level.alpha**2 * values + level.sigma**2)).sqrt()
    return MEAN + (noise - level.alpha * MEAN) @ axes * stretch @ axes.T


def error(sampler, name, steps):
    torch.manual_seed(0)
    levels = schedule(name).grid(steps)
    x = levels[0].sigma * torch.randn(50, 2, dtype=torch.float64)
    return (last(sampler(of_normal, x, levels)) - transported(x, levels[0])).abs().max().item()


@pytest.mark.parametrize(
    ("name", "sampler", "least", "most"),
    [("flow", euler, 1.7, 2.4), ("vp", ddim, 1.7, 2.4), ("flow", heun, 3.0, 6.0), ("flow", dpm, 3.0, 6.0)],
)
def test_errors_fall_by_the_order_of_the_sampler(name, sampler, least, most):
    coarse, fine = error(sampler, name, 50), error(sampler, name, 100)
    assert least < coarse / fine < most


@pytest.mark.parametrize("name", NAMES)
def test_the_second_order_needs_fewer_steps(name):
    assert error(dpm, name, 40) < error(ddim, name, 40) / 2
    assert error(dpm, name, 40) < 0.03


@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_ddim_is_one_of_euler(name):
    x, levels = torch.randn(5, 2, dtype=torch.float64), schedule(name).grid(6)
    for one, other in zip(ddim(of_normal, x, levels), euler(of_normal, x, levels), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_ddpm_is_ddim_with_noise_that_is_all_fresh(name):
    x, levels = torch.randn(5, 2, dtype=torch.float64), schedule(name).grid(6)
    torch.manual_seed(3)
    one = list(ddpm(of_normal, x, levels))
    torch.manual_seed(3)
    for a, b in zip(one, ddim(of_normal, x, levels, eta=1.0), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_ddpm_draws_the_distribution_of_the_data(name):
    torch.manual_seed(1)
    levels = schedule(name).grid(200)
    samples = last(ddpm(of_normal, levels[0].sigma * torch.randn(20000, 2, dtype=torch.float64), levels))
    torch.testing.assert_close(samples.mean(0), MEAN, rtol=0, atol=0.03)
    torch.testing.assert_close(samples.T.cov(), COVARIANCE, rtol=0, atol=0.04)


@pytest.mark.parametrize("kind", ["noise", "data", "velocity"])
@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_samples_do_not_depend_on_how_a_network_says_it(sampler, kind):
    levels, x = schedule("vp").grid(10), torch.randn(5, 2, dtype=torch.float64)
    torch.manual_seed(2)
    wanted = last(sampler(of_normal, x, levels))
    torch.manual_seed(2)
    torch.testing.assert_close(last(sampler(read_by(said(kind), kind), x, levels)), wanted)


def test_clipped_data_are_within_their_bounds_and_the_noise_fits_them():
    level, x = schedule("vp").level(0.9), torch.randn(50, 2, dtype=torch.float64)
    data, noise = read_by(said("noise"), "noise", clip=0.8)(x, level)
    assert data.abs().max() == 0.8
    torch.testing.assert_close(level.mixed(data, noise), x)


class Labelled(nn.Module):
    """Says its class, and counts how often and of how many it was asked."""

    def __init__(self):
        super().__init__()
        self.weight, self.asked = nn.Parameter(torch.ones(())), []

    def forward(self, x, time, labels):
        self.asked.append(len(x))
        return self.weight * (x + labels[:, None] + time[:, None])


@pytest.mark.parametrize("guidance", [0.0, 0.5, 1.0, 3.0])
def test_guidance_goes_on_from_no_class_through_the_class(guidance):
    model, level, x, labels = Labelled(), schedule("flow").level(0.25), torch.randn(4, 2), torch.tensor([1, 2, 0, 1])
    scaled, none = x / math.sqrt(0.75**2 + 0.25**2), 9
    wanted = (1 - guidance) * (scaled + none + 0.25) + guidance * (scaled + labels[:, None] + 0.25)
    torch.testing.assert_close(Guided(model, labels, none=none, guidance=guidance)(x, level), wanted)
    assert model.asked == [4 if guidance == 1 else 8]


def test_a_recorded_network_says_the_same_of_other_data_times_classes_and_weights():
    model, labels = Labelled(), torch.tensor([0, 1, 2])
    with torch.no_grad():
        recording = Recording(model, torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64))
        model.weight.fill_(2.0)
        recording.start(labels)
        for time in (0.3, 0.7):
            x = torch.randn(3, 2)
            torch.testing.assert_close(recording(x, time), network(model, x, labels)(x, time))


@pytest.mark.parametrize("name", ["cosine", "flow"])
def test_inpainting_keeps_what_is_known_and_draws_the_rest_given_it(name):
    torch.manual_seed(4)
    known = torch.stack([torch.full((4000,), 1.5), torch.zeros(4000)], 1).double()
    mask = torch.tensor([[True, False]]).expand(4000, 2)
    levels = schedule(name).grid(50)
    x = levels[0].sigma * torch.randn_like(known)
    samples = last(inpainted(ddpm, of_normal, x, levels, known, mask, repeats=8))
    assert torch.equal(samples[:, 0], known[:, 0])
    mean = MEAN[1] + COVARIANCE[0, 1] / COVARIANCE[0, 0] * (1.5 - MEAN[0])
    variance = COVARIANCE[1, 1] - COVARIANCE[0, 1] ** 2 / COVARIANCE[0, 0]
    assert samples[:, 1].mean().item() == pytest.approx(mean.item(), abs=0.12)
    assert samples[:, 1].var().item() == pytest.approx(variance.item(), abs=0.15)


@pytest.mark.parametrize("kind", ["noise", "data", "velocity"])
@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_of_normal_data_is_their_density(name, kind):
    if name == "flow" and kind == "noise":
        pytest.skip("at the end of a straight path nothing is left of the data")
    normal = torch.distributions.MultivariateNormal(MEAN, COVARIANCE)
    torch.manual_seed(5)
    x = normal.sample((20,))
    levels = way_to_noise(schedule(name), 100)
    got = log_likelihood(said(kind), kind, x, levels)
    # At the last level some of the data is left, which the density of noise does not know of.
    end, (values, axes) = levels[-1], torch.linalg.eigh(COVARIANCE)
    stretch = ((end.alpha**2 * values + end.sigma**2) / values).sqrt()
    there = end.alpha * MEAN + (x - MEAN) @ axes * stretch @ axes.T
    spread = end.alpha**2 * COVARIANCE + end.sigma**2 * torch.eye(2)
    left = torch.distributions.MultivariateNormal(end.alpha * MEAN, spread).log_prob(there)
    left = left - torch.distributions.Normal(0.0, end.sigma).log_prob(there).sum(1)
    torch.testing.assert_close(got, normal.log_prob(x) - left, rtol=0, atol=0.015)


def test_the_estimated_trace_has_the_exact_one_for_its_mean():
    torch.manual_seed(6)
    levels = way_to_noise(schedule("vp"), 30)
    x = torch.randn(1, 2, dtype=torch.float64)
    exact = log_likelihood(said("noise"), "noise", x, levels)
    estimated = log_likelihood(said("noise"), "noise", x.expand(3000, 2), levels, trace="estimated")
    assert estimated.std() > 0.01
    assert estimated.mean().item() == pytest.approx(exact.item(), abs=4 * estimated.std().item() / math.sqrt(3000))


def test_the_likelihood_can_be_asked_for_in_inference_mode():
    levels = [schedule("flow").level(t) for t in (0.1, 0.5, 1.0)]
    x = torch.zeros(2, 2, dtype=torch.float64)
    with torch.inference_mode():
        inside = log_likelihood(said("velocity"), "velocity", x, levels)
    torch.testing.assert_close(inside, log_likelihood(said("velocity"), "velocity", x, levels))


def test_a_chain_of_few_steps_can_be_walked_whole():
    chain = Chain(linear_betas(8, 0.05, 0.5))
    assert [round(level.time * 8) for level in chain.grid(8)] == [8, 7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("narrow", [False, True])
def test_a_recorded_network_says_what_the_network_does_and_follows_its_weights(narrow):
    torch.manual_seed(0)
    model = build_model(Part("unet", {"width": 8}), Picture(1, 6, 6), 3).eval()
    x, labels = torch.randn(2, 1, 6, 6), torch.tensor([0, 2])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        recording = Recording(model, torch.zeros_like(x), torch.zeros_like(labels))
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.2)
        recording.start(labels)
        said = recording(x, 0.3)
        wanted = model(x, x.new_full((2,), 0.3), labels)
    assert said.abs().max() > 0.1
    # Narrow biases that are added to each other are rounded once more.
    rounding = 2**-7 * wanted.abs().max().item() if narrow else 0
    torch.testing.assert_close(said, wanted, rtol=0, atol=rounding)
