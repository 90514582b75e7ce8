"""Tasks whose trained models draw examples: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.density import Density
from gradlab.tasks.generative.diffusion import Diffusion
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples
from gradlab.tasks.generative.latent import Encodes, Reconstructs
from gradlab.tasks.generative.quality import Judge

__all__ = ["Encodes", "Generative", "Judge", "Noise", "Reconstructs", "Request", "Sampler", "Samples"]
from gradlab.tasks.generative.reconstruct import Reconstruct

__all__ = ["Density", "Generative", "Noise", "Reconstruct", "Request", "Sampler", "Samples"]
from gradlab.tasks.generative.vae import VariationalAutoencoder

__all__ = ["Generative", "Noise", "Request", "Sampler", "Samples", "VariationalAutoencoder"]
from gradlab.tasks.generative.gan import Adversarial
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples
from gradlab.tasks.generative.pixelcnn import PixelLikelihood

__all__ = ["Adversarial", "Generative", "Noise", "PixelLikelihood", "Request", "Sampler", "Samples"]
__all__ = ["Diffusion", "Generative", "Noise", "Request", "Sampler", "Samples"]
