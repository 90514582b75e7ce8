"""Processes of noise against chains walked step by step, differential equations, and Bayes' rule."""

import itertools
import math

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.nn.diffusion import CLEAN, VE, VP, Chain, Flow, cosine_betas, linear_betas, posterior, reading, schedule

NAMES = ["linear", "cosine", "vp", "ve", "flow"]
TIMES = [0.02, 0.3, 0.5, 0.9, 1.0]
KINDS = ["noise", "data", "velocity"]


@pytest.mark.parametrize("betas", [linear_betas(60, 1e-3, 0.3), cosine_betas(60)])
def test_the_closed_form_is_the_chain_walked_step_by_step(betas):
    chain, mean, variance = Chain(betas), 1.0, 0.0
    for number, beta in enumerate(betas):
        mean, variance = math.sqrt(1 - beta) * mean, (1 - beta) * variance + beta
        assert chain.step(number).alpha == pytest.approx(mean, rel=1e-12)
        assert chain.step(number).sigma == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_the_schedules_are_those_of_the_papers():
    assert schedule("linear", 1000).betas[0] == pytest.approx(1e-4)
    assert schedule("linear", 1000).betas[-1] == pytest.approx(0.02)
    kept = torch.tensor(Chain(cosine_betas(1000)).kept)
    time = torch.arange(1, 1001) / 1000
    wave = torch.cos((time + 0.008) / 1.008 * math.pi / 2) ** 2
    torch.testing.assert_close(
        kept[:-1], (wave / math.cos(0.008 / 1.008 * math.pi / 2) ** 2)[:-1], rtol=1e-3, atol=1e-6
    )
    assert max(cosine_betas(1000)) == 0.999


def test_the_continuous_process_is_the_limit_of_the_linear_chain():
    chain, limit = schedule("linear", 20000), VP()
    for time in TIMES:
        assert chain.level(time).alpha == pytest.approx(limit.level(time).alpha, rel=2e-3)


def test_mean_and_variance_of_vp_solve_their_differential_equations():
    time, width, vp = torch.linspace(0.1, 0.9, 9, dtype=torch.float64), 1e-5, VP()
    alpha, sigma, _, _ = vp.at(time)
    (alpha_after, sigma_after, _, _), (alpha_before, sigma_before, _, _) = vp.at(time + width), vp.at(time - width)
    beta = 0.1 + 19.9 * time
    torch.testing.assert_close((alpha_after - alpha_before) / (2 * width), -beta * alpha / 2, rtol=1e-6, atol=1e-8)
    slope = (sigma_after.square() - sigma_before.square()) / (2 * width)
    torch.testing.assert_close(slope, beta * (1 - sigma.square()), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("process", [VP(), VE(), Flow()])
def test_the_rates_point_along_the_path_and_span_an_area_of_one(process):
    time, width = torch.linspace(0.05, 0.95, 7, dtype=torch.float64), 1e-6
    alpha, sigma, alpha_rate, sigma_rate = process.at(time)
    after, before = process.at(time + width), process.at(time - width)
    along = (after[0] - before[0]) * sigma_rate - (after[1] - before[1]) * alpha_rate
    torch.testing.assert_close(along / (2 * width), torch.zeros(7, dtype=torch.float64), atol=1e-7, rtol=0)
    torch.testing.assert_close(alpha * sigma_rate - sigma * alpha_rate, torch.ones(7, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_data_and_noise_are_found_again_from_any_target(name, kind):
    data, noise = torch.randn(2, 5, dtype=torch.float64)
    for time in TIMES:
        level = schedule(name).level(time)
        if kind == "noise" and level.alpha == 0:
            continue
        x, said = level.mixed(data, noise), level.target(kind, data, noise)
        # Of the noise that is told, data are found by a division by α.
        tolerance = 1e-12 / min(1.0, level.alpha or 1.0, level.sigma)
        torch.testing.assert_close(reading(kind, level).data(x, said), data, rtol=0, atol=10 * tolerance)
        torch.testing.assert_close(reading(kind, level).noise(x, said), noise, rtol=0, atol=10 * tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_the_signal_falls_against_the_noise(name):
    ratios = [level.snr for level in schedule(name).grid(50)[:-1]]
    assert all(noisier < cleaner for noisier, cleaner in itertools.pairwise(ratios))


@pytest.mark.parametrize("name", NAMES)
def test_levels_of_a_device_are_those_of_the_host(name):
    process, share = schedule(name), torch.rand(20, 1, 1)
    levels = process.levels(share)
    assert levels.alpha.shape == (20, 1, 1)
    for i, time in enumerate(levels.time.flatten().tolist()):
        level = process.level(time)
        for part in ("time", "alpha", "sigma", "alpha_rate", "sigma_rate"):
            assert getattr(levels, part)[i].item() == pytest.approx(getattr(level, part), rel=2e-4, abs=2e-6)


def test_the_steps_of_a_chain_are_drawn_alike():
    levels = schedule("cosine", 10).levels((torch.arange(1000) + 0.5) / 1000)
    assert torch.equal((levels.time * 10).round().long().bincount()[1:], torch.full((10,), 100))


def test_the_score_is_the_gradient_of_the_log_density():
    level, data = schedule("vp").level(0.4), torch.randn(6, dtype=torch.float64)
    noise = torch.randn(6, dtype=torch.float64)
    x = level.mixed(data, noise).requires_grad_()
    torch.distributions.Normal(level.alpha * data, level.sigma).log_prob(x).sum().backward()
    torch.testing.assert_close(level.score(noise), x.grad)


@pytest.mark.parametrize("name", NAMES)
def test_the_posterior_is_that_of_bayes(name):
    process, data, noisy = schedule(name), 0.7, -0.4
    for s, t in [(0.1, 0.3), (0.5, 0.501), (0.2, 1.0)]:
        cleaner, noisier = process.level(s), process.level(t)
        # (x_s, x_t) given x₀ are jointly normal, and x_t is a multiple of x_s with independent noise.
        covariance = noisier.alpha / cleaner.alpha * cleaner.sigma**2
        slope = covariance / noisier.sigma**2
        mean = cleaner.alpha * data + slope * (noisy - noisier.alpha * data)
        got = posterior(noisier, cleaner)
        assert got.mean(data, noisy) == pytest.approx(mean, rel=1e-9)
        assert got.std**2 == pytest.approx(cleaner.sigma**2 - slope * covariance, rel=1e-6, abs=1e-12)


def test_the_posterior_of_one_step_is_that_of_ddpm():
    betas = linear_betas(100, 1e-3, 0.2)
    chain = Chain(betas)
    got, kept = posterior(chain.step(40), chain.step(39)), chain.kept
    assert got.std**2 == pytest.approx((1 - kept[39]) / (1 - kept[40]) * betas[40])
    assert got.data == pytest.approx(math.sqrt(kept[39]) * betas[40] / (1 - kept[40]))
    assert got.noisy == pytest.approx(math.sqrt(1 - betas[40]) * (1 - kept[39]) / (1 - kept[40]))


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_leads_from_noise_to_clean_data(name):
    levels = schedule(name).grid(7)
    assert len(levels) == 8
    assert levels[0].time == 1
    assert levels[-1] == CLEAN


def test_more_steps_than_a_chain_has_are_refused():
    assert len(schedule("linear", 20).grid(20)) == 21
    with pytest.raises(GradlabError, match="30 steps need as many of the noise, which has 20"):
        schedule("linear", 20).grid(30)
