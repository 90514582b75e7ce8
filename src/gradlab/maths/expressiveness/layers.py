"""Networks whose weights are computed and not learned, of the usual layers."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.nn import Linear, ReLU


def affine(weight: Tensor, bias: Tensor) -> Linear:
    """A dense layer with these weights. On the device meta nothing is drawn for numbers that would be overwritten."""
    with torch.device("meta"):
        layer = Linear(weight.shape[1], weight.shape[0])
    layer.weight, layer.bias = (nn.Parameter(x.detach().clone()) for x in (weight, bias))
    return layer


def relu_layers(maps: Sequence[tuple[Tensor, Tensor]]) -> nn.Sequential:
    """Affine maps with ReLU between them."""
    layers = [layer for weight, bias in maps for layer in (affine(weight, bias), ReLU())]
    return nn.Sequential(*layers[:-1])


def increasing(values: object, name: str) -> Tensor:
    """As a vector, if each number is larger than the one before."""
    x = tensor(values)
    if x.ndim != 1:
        raise GradlabError(f"{name} must be a list of numbers, got shape {tuple(x.shape)}.")
    if (wrong := (x.diff() <= 0).nonzero()).numel():
        i = int(wrong[0]) + 1
        raise GradlabError(f"{name} must increase, but number {i} is {x[i]:g} after {x[i - 1]:g}. Sort them.")
    return x
