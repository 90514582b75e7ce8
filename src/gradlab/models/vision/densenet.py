"""DenseNet, with the names of torchvision's weights. Huang et al. 2016, arXiv:1608.06993."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated

from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.models.vision.parts import HE, GlobalAverage, Init, Stem, check_reduced, stem_for
from gradlab.nn import AvgPool2d, BatchNorm, Conv2d, DenseConnection, Dropout, Linear, MaxPool2d, ReLU
from gradlab.nn.initialisation import fill_weights
from gradlab.registry import Count, Fraction
from gradlab.specs import Picture


@dataclass(frozen=True, kw_only=True)
class DenseNetSettings:
    """The defaults are DenseNet-121. DenseNet-BC of 100 layers for CIFAR has layers=16,16,16 and growth=12."""

    growth: Annotated[Count, "channels that each layer adds"] = 32
    layers: Annotated[list[Count], "of each dense block"] = field(default_factory=lambda: [6, 12, 24, 16])
    bottleneck: Annotated[Count, "channels within a layer, as multiples of growth"] = 4
    dropout: Annotated[Fraction, "probability of dropping a number that a layer adds"] = 0.0
    stem: Stem = None
    init: Init = HE


class DenseLayer(DenseConnection):
    r"""What there is, and `growth` channels more. Its parts lie in the layer itself, where torchvision has them.

    $$ y = (x, \; W_2 * \mathrm{relu}(\mathrm{bn}_2(W_1 * \mathrm{relu}(\mathrm{bn}_1(x))))) $$
    """

    def __init__(self, inputs: int, settings: DenseNetSettings):
        nn.Module.__init__(self)
        inner, self.dim = settings.bottleneck * settings.growth, 1
        self.norm1, self.relu1 = BatchNorm(inputs), ReLU()
        self.conv1 = Conv2d(inputs, inner, 1, bias=False)
        self.norm2, self.relu2 = BatchNorm(inner), ReLU()
        self.conv2 = Conv2d(inner, settings.growth, 3, padding=1, bias=False)
        self.dropout = Dropout(settings.dropout)

    def module(self, x: Tensor) -> Tensor:
        h = self.conv1(self.relu1(self.norm1(x)))
        y: Tensor = self.dropout(self.conv2(self.relu2(self.norm2(h))))
        return y


@models.register("densenet")
def densenet(
    inputs: Picture,
    outputs: int,
    *,
    settings: DenseNetSettings = DenseNetSettings(),
) -> nn.Module:
    """Dense blocks, in which each layer sees all before it, and transitions that halve channels and sizes between them.

    The defaults are DenseNet-121, with the names of torchvision's weights.
    """
    stem = stem_for(inputs, settings.stem)
    blocks = len(settings.layers)
    check_reduced(f"densenet of {blocks} blocks", inputs, stem, blocks - 1)
    width = 2 * settings.growth
    features: dict[str, nn.Module]
    if stem == "large":
        first = Conv2d(inputs.channels, width, 7, 2, 3, bias=False)
        features = {"conv0": first, "norm0": BatchNorm(width), "relu0": ReLU(), "pool0": MaxPool2d(3, 2, 1)}
    else:
        features = {"conv0": Conv2d(inputs.channels, width, 3, padding=1, bias=False)}
    for i, layers in enumerate(settings.layers, 1):
        block: dict[str, nn.Module] = {}
        for j in range(1, layers + 1):
            block[f"denselayer{j}"] = DenseLayer(width, settings)
            width += settings.growth
        features[f"denseblock{i}"] = nn.Sequential(OrderedDict(block))
        if i < blocks:
            features[f"transition{i}"] = _transition(width)
            width //= 2
    features[f"norm{blocks + 1}"] = BatchNorm(width)
    network = nn.Sequential(
        OrderedDict(
            features=nn.Sequential(OrderedDict(features)),
            relu=ReLU(),
            avgpool=GlobalAverage(),
            classifier=Linear(width, outputs),
        )
    )
    return fill_weights(network, settings.init)


def _transition(width: int) -> nn.Sequential:
    return nn.Sequential(
        OrderedDict(
            norm=BatchNorm(width), relu=ReLU(), conv=Conv2d(width, width // 2, 1, bias=False), pool=AvgPool2d(2)
        )
    )
