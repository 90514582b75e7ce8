"""Building blocks, one idea per file."""

from gradlab.nn.activations import (
    ELU,
    GELU,
    Activation,
    Argmax,
    Behaviour,
    Identity,
    LeakyReLU,
    Maxout,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Step,
    Tanh,
)
from gradlab.nn.blocks import ShapeError, block, blocks, find_block
from gradlab.nn.perceptron import Perceptron
from gradlab.nn.polynomial import PolynomialFeatures

__all__ = [
    "Activation",
    "Argmax",
    "Behaviour",
    "ELU",
    "GELU",
    "Identity",
    "LeakyReLU",
    "Maxout",
    "PReLU",
    "Perceptron",
    "PolynomialFeatures",
    "ReLU",
    "ShapeError",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Step",
    "Tanh",
    "block",
    "blocks",
    "find_block",
]
