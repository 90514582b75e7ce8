"""Tasks whose trained models draw examples: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.diffusion import Diffusion
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples

__all__ = ["Diffusion", "Generative", "Noise", "Request", "Sampler", "Samples"]
