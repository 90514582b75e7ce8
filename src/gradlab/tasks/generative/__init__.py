"""Tasks whose trained models draw examples, or code them: reconstruction, likelihood, adversaries, diffusion."""

from gradlab.tasks.generative.density import Density
from gradlab.tasks.generative.diffusion import Diffusion
from gradlab.tasks.generative.gan import Adversarial
from gradlab.tasks.generative.generative import Calls, Generative, Noise, Request, Sampler, Samples
from gradlab.tasks.generative.latent import Decodes, Encodes, Reconstructs
from gradlab.tasks.generative.pixelcnn import PixelLikelihood
from gradlab.tasks.generative.quality import Judge
from gradlab.tasks.generative.reconstruct import Reconstruct
from gradlab.tasks.generative.vae import VariationalAutoencoder

__all__ = [
    "Adversarial",
    "Calls",
    "Decodes",
    "Density",
    "Diffusion",
    "Encodes",
    "Generative",
    "Judge",
    "Noise",
    "PixelLikelihood",
    "Reconstruct",
    "Reconstructs",
    "Request",
    "Sampler",
    "Samples",
    "VariationalAutoencoder",
]
