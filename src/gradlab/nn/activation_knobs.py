"""The activations that a recipe may choose from, with their shape parameters as knobs."""

from typing import Annotated, Literal

from torch import nn

from gradlab.nn.activations import ELU, GELU, Identity, LeakyReLU, ReLU, Sigmoid, SiLU, Softplus, Tanh
from gradlab.registry import NonNegative, Positive, Registry

activations: Registry[nn.Module] = Registry("activation")


@activations.register("identity")
def identity() -> nn.Module:
    """x"""
    return Identity()


@activations.register("relu")
def relu() -> nn.Module:
    """max(x, 0); its derivative at 0 is 0."""
    return ReLU()


@activations.register("leaky-relu")
def leaky_relu(*, slope: Annotated[NonNegative, "slope for x < 0"] = 0.01) -> nn.Module:
    """x for x ≥ 0, slope · x below."""
    return LeakyReLU(slope)


@activations.register("elu")
def elu(*, alpha: Annotated[Positive, "the limit for x → -∞ is -alpha"] = 1.0) -> nn.Module:
    """x for x ≥ 0, alpha · (exp(x) - 1) below."""
    return ELU(alpha)


@activations.register("gelu")
def gelu(*, form: Annotated[Literal["exact", "tanh"], "exact, or its tanh approximation"] = "exact") -> nn.Module:
    """x · Φ(x) with Φ the distribution function of the standard normal."""
    return GELU("none" if form == "exact" else "tanh")


@activations.register("silu")
def silu() -> nn.Module:
    """x · sigmoid(x)"""
    return SiLU()


@activations.register("sigmoid")
def sigmoid() -> nn.Module:
    """1 / (1 + exp(-x))"""
    return Sigmoid()


@activations.register("tanh")
def tanh() -> nn.Module:
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x))"""
    return Tanh()


@activations.register("softplus")
def softplus() -> nn.Module:
    """log(1 + exp(x))"""
    return Softplus()
