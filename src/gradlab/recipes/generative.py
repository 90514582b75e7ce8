"""Recipes of models that draw examples: of digits, of points in the plane, and of one's own pictures."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import recipe, variant
from gradlab.registry import Part

# Linear and mixtures

# Autoencoders

# Variational autoencoders

# Adversaries

# Pixel by pixel

# Diffusion and flows


@recipe
def digits_diffusion() -> Recipe:
    """Handwritten digits, 8×8 pixels, of classes that are asked for, by diffusion: a few minutes of two cores."""
    train = {"steps": 4000, "batch_size": 128, "optimizer": "adamw", "schedule": "cosine", "ema": 0.995}
    train |= {"clip": 1.0, "keep": "last", "evaluate_every": 500}
    model = Part("score-mlp", {"dim": 256, "layers": 4})  # a step costs a fraction of that of a U-Net
    return Recipe("digits-diffusion", Part("digits"), model, Part("diffusion", {"conditional": True}), train)


@recipe
def moons_flow() -> Recipe:
    """Points of two half moons, by flow matching: straight paths from noise to points."""
    task = Part("diffusion", {"schedule": "flow", "sampler": "heun"})
    train = {"steps": 4000, "batch_size": 256, "lr": 2e-3, "schedule": "cosine", "ema": 0.995, "keep": "last"}
    data = Part("moons", {"examples": 4000, "noise": 0.08})
    return Recipe("moons-flow", data, Part("score-mlp"), task, train | {"evaluate_every": 500})


@recipe
def spirals_diffusion() -> Recipe:
    """Points of two spirals, by diffusion in continuous time."""
    changes = {"data": "spirals", "data__examples": 4000, "task__schedule": "vp", "task__sampler": "dpm"}
    return variant("spirals-diffusion", moons_flow(), **changes, train__steps=6000)


@recipe
def mnist_diffusion() -> Recipe:
    """MNIST digits of classes that are asked for, by diffusion. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    changes = {"data": "mnist", "model": "unet", "model__width": 64, "model__multiples": [1, 2, 2], "model__blocks": 2}
    changes |= {"task__guidance": 2.0, "train__steps": 20000, "train__batch_size": 256, "train__lr": 5e-4}
    changes |= {"train__ema": 0.999, "train__precision": "auto", "train__evaluate_every": 2000}
    return variant("mnist-diffusion", digits_diffusion(), **changes)


@recipe
def images_diffusion() -> Recipe:
    """Pictures of one's own, by diffusion. Needs --data FOLDER."""
    changes = {
        "data": "images",
        "model": "unet",
        "task__conditional": False,
        "train__steps": 20000,
        "train__batch_size": 32,
    }
    changes |= {"model__width": 48, "model__multiples": [1, 2, 3, 4], "train__lr": 5e-4, "train__ema": 0.999}
    changes |= {"train__precision": "auto", "train__evaluate_every": 1000}
    return variant("images-diffusion", digits_diffusion(), **changes)
