"""Networks in the style of VGG: 3×3 convolutions and pooling. Simonyan & Zisserman 2014, arXiv:1409.1556."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated

from torch import nn

from gradlab.models.mlp import mlp
from gradlab.models.registry import models
from gradlab.models.vision.parts import HE, Init, check_size
from gradlab.nn import BatchNorm, Conv2d, MaxPool2d, ReLU
from gradlab.nn.initialisation import fill_weights
from gradlab.registry import Count, Fraction
from gradlab.specs import Picture


@dataclass(frozen=True, kw_only=True)
class VGGSettings:
    """VGG-13 has widths=64,128,256,512,512, hidden=4096,4096, dropout=0.5 and batch_norm=false."""

    widths: Annotated[list[Count], "channels of each stage"] = field(default_factory=lambda: [32, 64, 128])
    convolutions: Annotated[Count, "of each stage, before its pooling"] = 2
    hidden: Annotated[list[Count], "units of the dense layers before the last"] = field(default_factory=lambda: [256])
    batch_norm: Annotated[bool, "after each convolution"] = True
    dropout: Annotated[Fraction, "probability of dropping a unit of the dense layers"] = 0.0
    init: Init = HE


@models.register("vgg")
def vgg(inputs: Picture, outputs: int, *, settings: VGGSettings = VGGSettings()) -> nn.Module:
    """Stages of 3×3 convolutions, each ended by 2×2 pooling, then dense layers."""
    shrunk = 2 ** len(settings.widths)
    check_size(f"vgg of {len(settings.widths)} stages", inputs, shrunk, "Give fewer model.widths, or larger images")
    layers: list[nn.Module] = []
    channels = inputs.channels
    for width in settings.widths:
        for _ in range(settings.convolutions):
            layers.append(Conv2d(channels, width, 3, padding=1, bias=not settings.batch_norm))
            layers += [BatchNorm(width), ReLU()] if settings.batch_norm else [ReLU()]
            channels = width
        layers.append(MaxPool2d(2))
    seen = Picture(channels, inputs.height // shrunk, inputs.width // shrunk)
    dense = mlp(seen, outputs, hidden=settings.hidden, dropout=settings.dropout)
    network = nn.Sequential(OrderedDict(features=nn.Sequential(*layers), classifier=dense))
    return fill_weights(network, settings.init)
