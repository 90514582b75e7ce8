"""Models that examples are drawn from."""

from gradlab.models.generative.autoencoder import Autoencoder
from gradlab.models.generative.gan import GAN
from gradlab.models.generative.mixture import GaussianMixture
from gradlab.models.generative.pca import PCA, pca_gaussian
from gradlab.models.generative.pixelcnn import PixelCNN
from gradlab.models.generative.score_mlp import ScoreMLP
from gradlab.models.generative.unet import UNet
from gradlab.models.generative.vae import VAE

__all__ = ["GAN", "PCA", "VAE", "Autoencoder", "GaussianMixture", "PixelCNN", "ScoreMLP", "UNet", "pca_gaussian"]
