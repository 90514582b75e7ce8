"""Models that examples are drawn from."""

from gradlab.models.generative.vae import VAE

__all__ = ["VAE"]
