"""Linear and softmax regression: one affine map."""

import math
from typing import Annotated

from torch import nn

from gradlab.models.registry import models
from gradlab.nn import Linear, PolynomialFeatures
from gradlab.registry import Count
from gradlab.specs import Array


@models.register("linear")
def linear(
    inputs: Array,
    outputs: int,
    *,
    degree: Annotated[Count, "powers of each input that are offered to the map; 1 is plain linear regression"] = 1,
) -> nn.Module:
    r"""One affine map of the inputs, or of their powers: linear and polynomial regression.

    $$ y = W \phi(x) + b, \qquad \phi(x) = (x, x^2, \dots, x^p) $$

    >>> from gradlab.specs import Table
    >>> linear(Table(3), 1)
    Sequential(
      (0): Linear(in_features=3, out_features=1, bias=True)
    )
    """
    features = math.prod(inputs.shape)
    layers: list[nn.Module] = [nn.Flatten()] if len(inputs.shape) > 1 else []
    if degree > 1:
        layers.append(PolynomialFeatures(degree))
    return nn.Sequential(*layers, Linear(features * degree, outputs))


@models.register("softmax")
def softmax(inputs: Array, outputs: int) -> nn.Module:
    r"""Softmax regression: logits Wx + b; the softmax itself is part of the loss, where it is stable."""
    return linear(inputs, outputs)
