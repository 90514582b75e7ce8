"""Recipes of models that draw examples: of digits, of points in the plane, and of one's own pictures."""

from gradlab.recipe import Recipe
from gradlab.recipes.book import on_cpu, recipe, variant
from gradlab.registry import Part

_DIGITS = Part("digits", {"preprocess": "scale"})  # pixels from 0 to 1

# Linear and mixtures


@recipe
def digits_pca() -> Recipe:
    """Handwritten digits as 16 numbers each, by principal component analysis: the linear autoencoder to beat."""
    task, train = Part("reconstruct", {"peak": 1.0}), {"steps": 1, "batch_size": "full"}
    return Recipe("digits-pca", _DIGITS, Part("pca", {"dims": 16}), task, train)


@recipe
def moons_mixture() -> Recipe:
    """Two half circles in the plane as a mixture of Gaussians, by expectation-maximisation."""
    train = {"steps": 60, "batch_size": "full"}
    return Recipe("moons-mixture", Part("moons"), Part("gaussian-mixture", {"components": 8}), Part("density"), train)


# Autoencoders


@recipe
def digits_autoencoder() -> Recipe:
    """Handwritten digits as 16 numbers each, by two perceptrons, to them and back."""
    model, train = Part("autoencoder", {"dims": 16, "hidden": [256, 128]}), {"epochs": 60, "lr": 2e-3}
    return Recipe("digits-autoencoder", _DIGITS, model, Part("reconstruct", {"peak": 1.0}), train)


@recipe
def digits_conv_autoencoder() -> Recipe:
    """Handwritten digits as 16 numbers each, by convolutions."""
    changes = {"model": "conv-autoencoder", "model__dims": 16, "train__epochs": 40}
    return variant("digits-conv-autoencoder", digits_autoencoder(), **changes)


@recipe
def digits_denoising() -> Recipe:
    """Handwritten digits from noisy ones, by the autoencoder of digits-autoencoder."""
    return variant("digits-denoising", digits_autoencoder(), task__noise=0.3)


@recipe
def digits_encoder() -> Recipe:
    """Digits from five labelled examples each. Try it with --from a run of digits-denoising --freeze trunk."""
    model = Part("encoder-classifier", {"of": Part("autoencoder", {"dims": 16, "hidden": [256, 128]})})
    data = Part("digits", {"preprocess": "scale", "limit": 50, "validation": 0.0})  # none are left to choose weights by
    return Recipe("digits-encoder", data, model, Part("classify"), {"steps": 200, "lr": 1e-2})


# Variational autoencoders


@recipe
def digits_vae() -> Recipe:
    """Handwritten digits, 8×8 black or white pixels, by a variational autoencoder."""
    data = Part("digits", {"preprocess": "scale", "binarise": "epoch"})
    model = Part("vae", {"latent": 10, "hidden": [200]})
    train = {"epochs": 300, "batch_size": 64, "lr": 2e-3, "schedule": "cosine"}
    return Recipe("digits-vae", data, model, Part("vae", {"importance_samples": 1000}), train)


@recipe
@on_cpu(train__epochs=25, task__importance_samples=200)
def mnist_vae() -> Recipe:
    """MNIST, pixels drawn anew in each epoch, by two tanh layers and 50 codes; some minutes of a GPU."""
    data = Part("mnist", {"preprocess": "scale", "binarise": "epoch", "validation": 0.0})
    model = Part("vae", {"latent": 50, "hidden": [200, 200]})
    # Muon has reached after 18,000 steps what takes Adam 60,000.
    train = {"epochs": 2000, "batch_size": 500, "lr": 2e-3, "optimizer": "muon", "schedule": "cosine", "keep": "last"}
    return Recipe("mnist-vae", data, model, Part("vae", {"importance_samples": 5000}), train)


@recipe
@on_cpu(train__epochs=15, task__samples=5, task__importance_samples=200)
def mnist_iwae() -> Recipe:
    """The same by the importance-weighted bound of 50 codes for each picture."""
    changes = {"task__bound": "iwae", "task__samples": 50, "train__epochs": 1200, "train__precision": "auto"}
    return variant("mnist-iwae", mnist_vae(), **changes)


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
    train |= {"evaluate_every": 200, "keep": "last"}  # of two good ones, the distance cannot decide which is better
    data = Part("digits", {"preprocess": "scale"})
    return Recipe("digits-gan", data, Part("conv-gan", {"channels": 16}), Part("gan", {"r1": 1.0}), train)


@recipe
@on_cpu(model__channels=16, train__steps=1000, train__ema=0.99, train__evaluate_every=500)
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
@on_cpu(model__layers=4, model__channels=24, train__epochs=1, train__ema=0.99, task__compared=100)
def mnist_pixelcnn() -> Recipe:
    """MNIST in black and white, pixel by pixel, for a GPU. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    train = {"epochs": 5, "batch_size": 128, "lr": 1e-3, "optimizer": "adamw", "weight_decay": 1e-4, "clip": 1.0}
    train |= {"schedule": "one-cycle", "ema": 0.999, "precision": "auto"}
    model = Part("pixelcnn", {"layers": 12, "channels": 96, "kernel": 5, "first_kernel": 7, "dropout": 0.2})
    data = Part("mnist", {"preprocess": "scale", "binarise": "once", "validation": 0.05})
    return Recipe("mnist-pixelcnn", data, model, Part("pixelcnn", {"levels": 2}), train)


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
@on_cpu(
    model__width=16,
    model__blocks=1,
    task__sampling_steps=15,
    task__compared=100,
    train__steps=1000,
    train__batch_size=32,
    train__lr=2e-3,
    train__ema=0.99,
    train__evaluate_every=500,
)
def mnist_diffusion() -> Recipe:
    """MNIST digits of classes that are asked for, by diffusion. Needs `gradlab data fetch mnist`, or --data FOLDER."""
    changes = {"data": "mnist", "model": "unet", "model__width": 64, "model__multiples": [1, 2, 2], "model__blocks": 2}
    changes |= {"task__guidance": 2.0, "train__steps": 10000, "train__batch_size": 256, "train__lr": 5e-4}
    changes |= {"train__ema": 0.999, "train__precision": "auto", "train__evaluate_every": 2000}
    return variant("mnist-diffusion", digits_diffusion(), **changes)


@recipe
@on_cpu(
    model__width=16,
    task__sampling_steps=15,
    task__compared=100,
    train__steps=1000,
    train__batch_size=16,
    train__lr=2e-3,
    train__ema=0.99,
    train__evaluate_every=500,
)
def images_diffusion() -> Recipe:
    """Pictures of one's own, with classes or without, by diffusion. Needs --data FOLDER."""
    changes = {
        "data": "pictures",
        "model": "unet",
        "task__conditional": False,
        "train__steps": 20000,
        "train__batch_size": 32,
    }
    changes |= {"model__width": 48, "model__multiples": [1, 2, 3, 4], "train__lr": 5e-4, "train__ema": 0.999}
    changes |= {"train__precision": "auto", "train__evaluate_every": 1000}
    return variant("images-diffusion", digits_diffusion(), **changes)
