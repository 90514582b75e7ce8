"""Recipes of models that draw examples: of digits, of points in the plane, and of one's own pictures."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part

# Linear and mixtures

# Autoencoders

# Variational autoencoders


@recipe
def digits_vae() -> Recipe:
    """Handwritten digits, 8×8 black or white pixels, by a variational autoencoder."""
    data = Part("digits", {"preprocess": "scale", "binarise": "epoch"})
    model = Part("vae", {"latent": 10, "hidden": [200]})
    train = {"epochs": 300, "batch_size": 64, "lr": 2e-3, "schedule": "cosine"}
    return Recipe("digits-vae", data, model, Part("vae", {"importance_samples": 1000}), train)


@recipe
def mnist_vae() -> Recipe:
    """MNIST, pixels drawn anew in each epoch, by two tanh layers and 50 codes; has a GPU in mind."""
    data = Part("mnist", {"preprocess": "scale", "binarise": "epoch", "validation": 0.0})
    model = Part("vae", {"latent": 50, "hidden": [200, 200]})
    train = {"epochs": 2000, "batch_size": 500, "lr": 2e-3, "optimizer": "adam", "schedule": "cosine", "keep": "last"}
    return Recipe("mnist-vae", data, model, Part("vae", {"importance_samples": 5000}), train)


@recipe
def mnist_iwae() -> Recipe:
    """The same by the importance-weighted bound of 50 codes for each picture."""
    changes = {"task__bound": "iwae", "task__samples": 50, "train__batch_size": 1000, "train__epochs": 1500}
    return variant("mnist-iwae", mnist_vae(), **changes)


# Adversaries

# Pixel by pixel

# Diffusion and flows
