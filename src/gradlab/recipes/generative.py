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


# Pixel by pixel


@recipe
def digits_pixelcnn() -> Recipe:
    """Handwritten digits, 8×8 pixels of 17 levels, drawn pixel by pixel: how likely a picture is, exactly."""
    train = {"epochs": 40, "batch_size": 32, "lr": 3e-3, "optimizer": "adamw", "weight_decay": 1e-4}
    train |= {"schedule": "one-cycle", "ema": 0.99}
    model = Part("pixelcnn", {"first_kernel": 5, "dropout": 0.2})
    return Recipe("digits-pixelcnn", Part("digits", {"preprocess": "scale"}), model, Part("pixelcnn"), train)


# Diffusion and flows
