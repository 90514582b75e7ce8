"""Samples from noise, by a network that says what of noisy data is noise."""

from gradlab.sampling.diffusion.ddim import ddim
from gradlab.sampling.diffusion.ddpm import ddpm
from gradlab.sampling.diffusion.denoising import Denoise, Guided, read_by
from gradlab.sampling.diffusion.dpm import dpm
from gradlab.sampling.diffusion.heun import euler, heun
from gradlab.sampling.diffusion.inpainting import inpainted
from gradlab.sampling.diffusion.likelihood import log_likelihood, way_to_noise

SAMPLERS = {"ddpm": ddpm, "ddim": ddim, "dpm": dpm, "euler": euler, "heun": heun}

__all__ = [
    "SAMPLERS",
    "Denoise",
    "Guided",
    "ddim",
    "ddpm",
    "dpm",
    "euler",
    "heun",
    "inpainted",
    "log_likelihood",
    "read_by",
    "way_to_noise",
]
