"""Tasks whose trained models draw examples: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples
from gradlab.tasks.generative.vae import VariationalAutoencoder

__all__ = ["Generative", "Noise", "Request", "Sampler", "Samples", "VariationalAutoencoder"]
