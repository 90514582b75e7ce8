"""Schedules and samplers step for step against those of diffusers, on random networks."""

import warnings

import pytest
import torch

from gradlab.nn.diffusion import Chain, cosine_betas, linear_betas
from gradlab.nn.diffusion.levels import CLEAN
from gradlab.sampling.diffusion import ddim, ddpm, dpm, read_by

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    diffusers = pytest.importorskip("diffusers")

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of theirs

SCHEDULES = {"linear": linear_betas(1000), "squaredcos_cap_v2": cosine_betas(1000)}
KINDS = {"epsilon": "noise", "sample": "data", "v_prediction": "velocity"}
SHAPE = (3, 2, 4, 4)


def random_network():
    """Any function of data and time: bounded, so that no sampler runs away."""
    torch.manual_seed(7)
    first, second = torch.randn(32, 64, dtype=torch.float64) / 6, torch.randn(64, 32, dtype=torch.float64) / 8

    def said(x, number):
        return (torch.tanh(x.double().flatten(1) @ first + number / 500) @ second).reshape(x.shape).to(x.dtype)

    return said


def scheduler(kind, schedule, prediction, **more):
    made = getattr(diffusers, kind)(beta_schedule=schedule, prediction_type=prediction, **more)
    made.betas = torch.tensor(SCHEDULES[schedule], dtype=torch.float64)
    return made


def theirs(made, said, x, steps):
    made.set_timesteps(steps)
    states, generator = [], torch.Generator().manual_seed(5)
    for time in made.timesteps:
        drawn = {} if type(made).__name__.startswith("DPM") else {"generator": generator}
        x = made.step(said(x, int(time)), time, x, **drawn).prev_sample
        states.append(x)
    return states


def ours(sampler, betas, made, kind, said, x):
    chain = Chain(betas)
    levels = [*(chain.step(int(time)) for time in made.timesteps), CLEAN]
    denoise = read_by(lambda x, level: said(x, round(level.time * 1000) - 1), kind)
    return list(sampler(denoise, x, levels))


def check(got, wanted, tolerance=2e-5):
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        # Theirs are in single precision, of numbers near 1 that are subtracted from 1.
        assert (a - b).abs().max() <= tolerance * max(1.0, b.abs().max().item())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_schedules_are_theirs(schedule):
    betas = torch.tensor(SCHEDULES[schedule])
    made = diffusers.DDPMScheduler(beta_schedule=schedule)
    torch.testing.assert_close(betas, made.betas, rtol=1e-4, atol=1e-6)
    kept = torch.tensor(Chain(SCHEDULES[schedule]).kept)
    torch.testing.assert_close(kept, made.alphas_cumprod, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("prediction", KINDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("spacing", ["leading", "trailing"])
def test_ddim_is_theirs(schedule, prediction, spacing):
    said, x = random_network(), torch.randn(SHAPE, dtype=torch.float64)
    made = scheduler("DDIMScheduler", schedule, prediction, clip_sample=False, timestep_spacing=spacing)
    wanted = theirs(made, said, x, 20)
    check(ours(ddim, SCHEDULES[schedule], made, KINDS[prediction], said, x), wanted)


@pytest.mark.parametrize("prediction", KINDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dpm_is_theirs(schedule, prediction):
    said, x = random_network(), torch.randn(SHAPE, dtype=torch.float64)
    made = scheduler("DPMSolverMultistepScheduler", schedule, prediction)
    wanted = theirs(made, said, x, 20)
    check(ours(dpm, SCHEDULES[schedule], made, KINDS[prediction], said, x), wanted)


@pytest.mark.parametrize("prediction", KINDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ddpm_is_theirs(schedule, prediction, monkeypatch):
    said, x = random_network(), torch.randn(SHAPE, dtype=torch.float64)
    made = scheduler("DDPMScheduler", schedule, prediction, clip_sample=False, timestep_spacing="leading")
    wanted = theirs(made, said, x, 50)
    generator = torch.Generator().manual_seed(5)
    draw = torch.randn
    monkeypatch.setattr(torch, "randn_like", lambda x: draw(x.shape, generator=generator, dtype=x.dtype))
    check(ours(ddpm, SCHEDULES[schedule], made, KINDS[prediction], said, x), wanted)
