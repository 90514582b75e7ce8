"""Models that examples are drawn from."""

from gradlab.models.generative.gan import GAN, conv_gan, gan

__all__ = ["GAN", "conv_gan", "gan"]
