"""Recipes of models that draw examples: of digits, of points in the plane, and of one's own pictures."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part

# Linear and mixtures

# Autoencoders

# Variational autoencoders

# Adversaries

_ADAM = Part("adam", {"beta1": 0.0, "beta2": 0.99})  # a moving opponent has no direction to gather momentum in


@recipe
def ring_gan() -> Recipe:
    """Points of eight Gaussians on a ring, by a generator against a discriminator: all eight, and little between."""
    train = {"steps": 4000, "batch_size": 256, "lr": 4e-3, "optimizer": _ADAM, "schedule": "cosine", "ema": 0.995}
    train |= {"evaluate_every": 200}
    task = Part("gan", {"r1": 0.05, "judged_by": "coverage"})
    return Recipe("ring-gan", Part("ring"), Part("gan"), task, train)


@recipe
def digits_gan() -> Recipe:
    """Handwritten digits, 8×8 pixels, drawn by a convolutional generator."""
    train = {"steps": 2000, "batch_size": 64, "lr": 1e-3, "optimizer": _ADAM, "schedule": "cosine", "ema": 0.998}
    train |= {"evaluate_every": 200, "keep": "last"}  # of two good ones, the distance cannot tell which is better
    data = Part("digits", {"preprocess": "scale"})
    return Recipe("digits-gan", data, Part("conv-gan", {"channels": 16}), Part("gan", {"r1": 1.0}), train)


@recipe
def mnist_gan() -> Recipe:
    """MNIST drawn by a convolutional generator, for a GPU. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    changes = {"data": "mnist", "data__preprocess": "scale", "model__channels": 64, "task__r1": 2.0}
    changes |= {"train__steps": 20_000, "train__batch_size": 128, "train__ema": 0.999, "train__evaluate_every": 1000}
    return variant("mnist-gan", digits_gan(), train__precision="auto", **changes)


# Pixel by pixel


@recipe
def digits_pixelcnn() -> Recipe:
    """Handwritten digits, 8×8 pixels of 17 levels, drawn pixel by pixel: how likely a picture is, exactly."""
    train = {"epochs": 30, "batch_size": 32, "lr": 3e-3, "optimizer": "adamw", "weight_decay": 1e-4}
    train |= {"schedule": "one-cycle", "ema": 0.99}
    model = Part("pixelcnn", {"first_kernel": 5, "dropout": 0.2})
    return Recipe("digits-pixelcnn", Part("digits", {"preprocess": "scale"}), model, Part("pixelcnn"), train)


@recipe
def mnist_pixelcnn() -> Recipe:
    """MNIST in black and white, pixel by pixel, for a GPU. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    train = {"epochs": 30, "batch_size": 128, "lr": 1e-3, "optimizer": "adamw", "weight_decay": 1e-4, "clip": 1.0}
    train |= {"schedule": "one-cycle", "ema": 0.999, "precision": "auto"}
    model = Part("pixelcnn", {"layers": 12, "channels": 96, "kernel": 5, "first_kernel": 7, "dropout": 0.2})
    data = Part("mnist", {"preprocess": "scale", "validation": 0.05})
    return Recipe("mnist-pixelcnn", data, model, Part("pixelcnn", {"levels": 2}), train)


# Diffusion and flows
