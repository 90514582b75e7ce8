"""The multilayer perceptron."""

import math
from typing import Annotated, Any

from torch import nn

from gradlab.models.registry import models
from gradlab.nn import Dropout, Linear
from gradlab.nn.activations import activations
from gradlab.nn.initialisation import fill_weights, initialisers
from gradlab.nn.normalisation import norms
from gradlab.registry import Count, Fraction, Part
from gradlab.specs import Array


def _batch_norm(*, batch_norm: bool) -> dict[str, Any]:
    return {"norm": "batch" if batch_norm else None}


@models.register("mlp", old=_batch_norm)
def mlp(
    inputs: Array,
    outputs: int,
    *,
    hidden: Annotated[list[Count], "units of each hidden layer; empty for a linear map"] = [128],  # noqa: B006
    activation: Annotated[Part, activations, "after each hidden layer"] = Part("relu"),  # noqa: B008
    dropout: Annotated[Fraction, "probability of dropping a hidden unit"] = 0.0,
    norm: Annotated[Part | None, norms, "normalisation of each hidden layer, before its activation"] = None,
    init: Annotated[Part | None, initialisers, "what the weights start from; default as PyTorch does"] = None,
) -> nn.Module:
    r"""A multilayer perceptron: hidden layers, each an affine map and an activation, then an affine map.

    $$ h_{l+1} = \sigma(W_l h_l + b_l), \qquad y = W_L h_L + b_L $$

    >>> from gradlab.specs import Table
    >>> mlp(Table(2), 3, hidden=[4], dropout=0.1)
    Sequential(
      (0): Linear(in_features=2, out_features=4, bias=True)
      (1): ReLU()
      (2): Dropout(p=0.1, inplace=False)
      (3): Linear(in_features=4, out_features=3, bias=True)
    )
    """
    layers: list[nn.Module] = [nn.Flatten()] if len(inputs.shape) > 1 else []
    width = math.prod(inputs.shape)
    for units in hidden:
        layers.append(Linear(width, units))
        if norm is not None:
            layers.append(norms.build(norm, units))
        layers.append(activations.build(activation))
        if dropout:
            layers.append(Dropout(dropout))
        width = units
    return fill_weights(nn.Sequential(*layers, Linear(width, outputs)), init)
