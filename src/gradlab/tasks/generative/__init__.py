"""Tasks whose trained models draw examples: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.gan import Adversarial
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples

__all__ = ["Adversarial", "Generative", "Noise", "Request", "Sampler", "Samples"]
