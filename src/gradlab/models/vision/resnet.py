"""Residual networks and ResNeXt, with the names of torchvision's weights. He et al. 2015, arXiv:1512.03385; Xie et al.
2016, arXiv:1611.05431."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.models.vision.parts import HE, GlobalAverage, Init, Stem, check_reduced, stem_for
from gradlab.nn import BatchNorm, Conv2d, Linear, MaxPool2d, ReLU, Residual
from gradlab.nn.initialisation import fill_weights
from gradlab.registry import Count
from gradlab.specs import Picture


@dataclass(frozen=True, kw_only=True)
class ResNetKnobs:
    """What the named networks leave open."""

    width: Annotated[Count | None, "channels of the first stage; default 64, or 16 if there are three stages"] = None
    stem: Stem = None
    init: Init = HE


_OPEN = ResNetKnobs()


@dataclass(frozen=True, kw_only=True)
class ResNetSettings(ResNetKnobs):
    """All that a residual network is built by: each stage has twice the channels of the one before, at half the size.

    The 3×3 convolution of a bottleneck has `groups`, of `group_width` channels each in the first stage if `width` is
    64: several groups make a ResNeXt. A padded shortcut has zeros for new channels, and no weights.
    """

    blocks: tuple[Count, ...]
    bottleneck: bool = False
    groups: Count = 1
    group_width: Count = 64
    padded: bool = False


class Block(Residual):
    """A residual connection and an activation. Its parts lie in the block itself, where torchvision has them."""

    expansion = 1
    downsample: Callable[[Tensor], Tensor] | None

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.relu = ReLU()

    def shortcut(self, x: Tensor) -> Tensor:
        return x if self.downsample is None else self.downsample(x)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch outputs rows columns"]:
        y: Tensor = self.relu(super().forward(x))
        return y


class BasicBlock(Block):
    r"""Two 3×3 convolutions and a way past them.

    $$ y = \mathrm{relu}(x + \mathrm{bn}_2(W_2 * \mathrm{relu}(\mathrm{bn}_1(W_1 * x)))) $$
    """

    def __init__(self, inputs: int, width: int, stride: int, settings: ResNetSettings):
        super().__init__()
        self.conv1, self.bn1 = Conv2d(inputs, width, 3, stride, 1, bias=False), BatchNorm(width)
        self.relu1 = ReLU()
        self.conv2, self.bn2 = Conv2d(width, width, 3, 1, 1, bias=False), BatchNorm(width)
        self.downsample = _downsample(inputs, width, stride, settings.padded)

    def module(self, x: Tensor) -> Tensor:
        y: Tensor = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return y


class Bottleneck(Block):
    r"""A 3×3 convolution of fewer channels between two of 1×1, and a way past them.

    $$ h = \mathrm{relu}(\mathrm{bn}_2(W_2 * \mathrm{relu}(\mathrm{bn}_1(W_1 * x)))), \qquad
       y = \mathrm{relu}(x + \mathrm{bn}_3(W_3 * h)) $$
    """

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int, settings: ResNetSettings):
        outputs, inner = self.expansion * width, max(1, width * settings.group_width // 64) * settings.groups
        super().__init__()
        self.conv1, self.bn1 = Conv2d(inputs, inner, 1, bias=False), BatchNorm(inner)
        self.relu1 = ReLU()
        self.conv2 = Conv2d(inner, inner, 3, stride, 1, groups=settings.groups, bias=False)
        self.bn2, self.relu2 = BatchNorm(inner), ReLU()
        self.conv3, self.bn3 = Conv2d(inner, outputs, 1, bias=False), BatchNorm(outputs)
        self.downsample = _downsample(inputs, outputs, stride, settings.padded)

    def module(self, x: Tensor) -> Tensor:
        h = self.relu2(self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x))))))
        y: Tensor = self.bn3(self.conv3(h))
        return y


def padded(x: Tensor, more: int, stride: int) -> Tensor:
    """Every so many pixels, with channels of zeros beside those that there are."""
    return F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, more))


def _downsample(inputs: int, outputs: int, stride: int, without_weights: bool) -> Callable[[Tensor], Tensor] | None:
    """What brings x to the shape of the branch, where that is another."""
    if stride == 1 and inputs == outputs:
        return None
    if without_weights:  # no module, whose zeros would be taken for dead units
        return partial(padded, more=outputs - inputs, stride=stride)
    return nn.Sequential(Conv2d(inputs, outputs, 1, stride, bias=False), BatchNorm(outputs))


def resnet(inputs: Picture, outputs: int, settings: ResNetSettings) -> nn.Module:
    """A stem, stages of blocks, each channel's mean, and an affine map."""
    stages = len(settings.blocks)
    stem = stem_for(inputs, settings.stem)
    check_reduced(f"A residual network of {stages} stages", inputs, stem, stages - 1)
    width = settings.width or (16 if stages == 3 else 64)
    first = (7, 2, 3) if stem == "large" else (3, 1, 1)
    layers: dict[str, nn.Module] = {
        "conv1": Conv2d(inputs.channels, width, *first, bias=False),
        "bn1": BatchNorm(width),
        "relu": ReLU(),
    }
    if stem == "large":
        layers["maxpool"] = MaxPool2d(3, 2, 1)
    block = Bottleneck if settings.bottleneck else BasicBlock
    channels = width
    for stage, blocks in enumerate(settings.blocks):
        parts = []
        for i in range(blocks):
            parts.append(block(channels, width * 2**stage, 2 if stage and not i else 1, settings))
            channels = block.expansion * width * 2**stage
        layers[f"layer{stage + 1}"] = nn.Sequential(*parts)
    layers |= {"avgpool": GlobalAverage(), "fc": Linear(channels, outputs)}
    return fill_weights(nn.Sequential(OrderedDict(layers)), settings.init)


@models.register("resnet20")
def resnet20(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 20 layers for small pictures, as He et al. have it for CIFAR-10."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(3, 3, 3), padded=True))


@models.register("resnet32")
def resnet32(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 32 layers for small pictures, as He et al. have it for CIFAR-10."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(5, 5, 5), padded=True))


@models.register("resnet56")
def resnet56(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 56 layers for small pictures, as He et al. have it for CIFAR-10."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(9, 9, 9), padded=True))


@models.register("resnet18")
def resnet18(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 18 layers in four stages, with the names of torchvision's weights."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(2, 2, 2, 2)))


@models.register("resnet34")
def resnet34(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 34 layers in four stages, with the names of torchvision's weights."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(3, 4, 6, 3)))


@models.register("resnet50")
def resnet50(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """A residual network of 50 layers, in bottlenecks, with the names of torchvision's weights."""
    return resnet(inputs, outputs, ResNetSettings(**vars(knobs), blocks=(3, 4, 6, 3), bottleneck=True))


@models.register("resnext50")
def resnext50(inputs: Picture, outputs: int, *, knobs: ResNetKnobs = _OPEN) -> nn.Module:
    """ResNeXt-50 (32×4d): bottlenecks of 32 groups, with the names of torchvision's weights."""
    settings = ResNetSettings(**vars(knobs), blocks=(3, 4, 6, 3), bottleneck=True, groups=32, group_width=4)
    return resnet(inputs, outputs, settings)
