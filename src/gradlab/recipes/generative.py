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

# Diffusion and flows
