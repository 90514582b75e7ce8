"""Models that examples are drawn from."""

from gradlab.models.generative.autoencoder import Autoencoder
from gradlab.models.generative.mixture import GaussianMixture
from gradlab.models.generative.pca import PCA, pca_gaussian

__all__ = ["PCA", "Autoencoder", "GaussianMixture", "pca_gaussian"]
from gradlab.models.generative.vae import VAE

__all__ = ["VAE"]
from gradlab.models.generative.gan import GAN, conv_gan, gan
from gradlab.models.generative.pixelcnn import PixelCNN, pixelcnn

__all__ = ["GAN", "PixelCNN", "conv_gan", "gan", "pixelcnn"]
from gradlab.models.generative.score_mlp import ScoreMLP, ScoreMLPSettings, score_mlp
from gradlab.models.generative.unet import UNet, UNetSettings, unet

__all__ = ["ScoreMLP", "ScoreMLPSettings", "UNet", "UNetSettings", "score_mlp", "unet"]
