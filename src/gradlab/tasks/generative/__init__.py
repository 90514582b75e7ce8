"""Tasks whose trained models draw examples: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.gan import Adversarial
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples
from gradlab.tasks.generative.pixelcnn import PixelLikelihood

__all__ = ["Adversarial", "Generative", "Noise", "PixelLikelihood", "Request", "Sampler", "Samples"]
