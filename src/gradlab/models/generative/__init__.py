"""Models that examples are drawn from."""

from gradlab.models.generative.gan import GAN, conv_gan, gan
from gradlab.models.generative.pixelcnn import PixelCNN, pixelcnn

__all__ = ["GAN", "PixelCNN", "conv_gan", "gan", "pixelcnn"]
