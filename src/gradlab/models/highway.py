"""The highway network. Srivastava et al. 2015, arXiv:1505.00387."""

import math
from dataclasses import dataclass
from typing import Annotated

from torch import nn

from gradlab.models.registry import models
from gradlab.nn import Highway, Linear
from gradlab.nn.activations import activations
from gradlab.nn.initialisation import fill_weights, initialisers
from gradlab.registry import Count, Finite, Part
from gradlab.specs import Array

_RELU = Part("relu")


@dataclass(frozen=True, kw_only=True)
class HighwaySettings:
    """By default as in the paper's networks for MNIST, of which some had 100 layers."""

    layers: Annotated[Count, "with a gate, after the first one"] = 10
    hidden: Annotated[Count, "units of each layer"] = 50
    activation: Annotated[Part, activations, "after each layer"] = _RELU
    gate_bias: Annotated[Finite, "of the gates at the start; below 0, most of the input passes"] = -2.0
    init: Annotated[Part | None, initialisers, "what the weights start from; default as PyTorch does"] = None


@models.register("highway")
def highway(inputs: Array, outputs: int, *, settings: HighwaySettings = HighwaySettings()) -> nn.Module:
    """Layers with gates between what each makes of its input and the input itself; pictures are flattened."""
    width = settings.hidden

    def layer(inputs: int) -> nn.Sequential:
        return nn.Sequential(Linear(inputs, width), activations.build(settings.activation))

    gated = [Highway(layer(width), width, settings.gate_bias) for _ in range(settings.layers)]
    network = nn.Sequential(nn.Flatten(), layer(math.prod(inputs.shape)), *gated, Linear(width, outputs))
    return fill_weights(network, settings.init)
