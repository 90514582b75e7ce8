"""LeNet-5, the convolutional network of LeCun et al. 1998, and its form for CIFAR, with a choice of parts."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Annotated

from torch import nn

from gradlab.models.registry import models
from gradlab.models.vision.parts import Init, check_size
from gradlab.nn import Conv2d, Linear
from gradlab.nn.activations import activations
from gradlab.nn.initialisation import fill_weights
from gradlab.nn.pooling import pools
from gradlab.registry import Part
from gradlab.specs import Picture

_RELU = Part("relu")


@dataclass(frozen=True, kw_only=True)
class LeNetSettings:
    """What can be chosen in either network."""

    activation: Annotated[Part, activations, "after each layer"] = _RELU
    pooling: Annotated[str, pools, "what is kept of 2×2 places"] = "max"
    init: Init = None


@models.register("lenet")
def lenet(inputs: Picture, outputs: int, *, settings: LeNetSettings = LeNetSettings()) -> nn.Module:
    """Two 5×5 convolutions with 2×2 pooling, then three dense layers (120, 84, outputs)."""
    check_size("lenet", inputs, 12)  # 12 → 6 by pooling → 2 by the second convolution → 1 by pooling
    return fill_weights(nn.Sequential(*_layers(inputs, outputs, 2, settings).values()), settings.init)


@models.register("cifar-cnn")
def cifar_cnn(inputs: Picture, outputs: int, *, settings: LeNetSettings = LeNetSettings()) -> nn.Module:
    """LeNet without padding: 62,006 parameters for ten classes of pictures of 3×32×32 pixels."""
    check_size("cifar-cnn", inputs, 16)  # 16 → 12 → 6 → 2 → 1
    return fill_weights(nn.Sequential(_layers(inputs, outputs, 0, settings)), settings.init)


def _layers(inputs: Picture, outputs: int, padding: int, settings: LeNetSettings) -> OrderedDict[str, nn.Module]:
    def after_convolutions(size: int) -> int:
        return ((size + 2 * padding - 4) // 2 - 4) // 2

    def bend() -> nn.Module:
        return activations.build(settings.activation)  # type: ignore[no-any-return]

    def pool() -> nn.Module:
        return pools.build(Part(settings.pooling), 2)  # type: ignore[no-any-return]

    places = after_convolutions(inputs.height) * after_convolutions(inputs.width)
    return OrderedDict(
        conv1=Conv2d(inputs.channels, 6, 5, padding=padding),
        bend1=bend(),
        pool1=pool(),
        conv2=Conv2d(6, 16, 5),
        bend2=bend(),
        pool2=pool(),
        flatten=nn.Flatten(),
        fc1=Linear(16 * places, 120),
        bend3=bend(),
        fc2=Linear(120, 84),
        bend4=bend(),
        fc3=Linear(84, outputs),
    )
