"""Models that examples are drawn from."""

from gradlab.models.generative.autoencoder import Autoencoder, autoencoder, conv_autoencoder
from gradlab.models.generative.mixture import GaussianMixture, gaussian_mixture
from gradlab.models.generative.pca import PCA, pca, pca_gaussian

__all__ = [
    "PCA",
    "Autoencoder",
    "GaussianMixture",
    "autoencoder",
    "conv_autoencoder",
    "gaussian_mixture",
    "pca",
    "pca_gaussian",
]
