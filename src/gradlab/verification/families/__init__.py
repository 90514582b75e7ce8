"""What is known of each family of blocks: a file or a folder for each, which enters its checks when it is imported."""

from gradlab.verification.families import (
    activations,
    attention,
    divergences,
    features,
    initialisation,
    linear_attention,
    losses,
    maps,
    normalisation,
    perceptron,
    position,
    recurrent,
    regularisation,
    residual,
    transformer,
)

__all__ = [
    "activations",
    "attention",
    "divergences",
    "features",
    "initialisation",
    "linear_attention",
    "losses",
    "maps",
    "normalisation",
    "perceptron",
    "position",
    "recurrent",
    "regularisation",
    "residual",
    "transformer",
]
