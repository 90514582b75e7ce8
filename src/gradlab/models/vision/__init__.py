"""Networks for pictures."""

from gradlab.models.vision.densenet import DenseNetSettings, densenet
from gradlab.models.vision.lenet import LeNetSettings, cifar_cnn, lenet
from gradlab.models.vision.resnet import (
    ResNetKnobs,
    resnet18,
    resnet20,
    resnet32,
    resnet34,
    resnet50,
    resnet56,
    resnext50,
)
from gradlab.models.vision.vgg import VGGSettings, vgg
from gradlab.models.vision.vit import VisionTransformer, ViTSettings, vit
from gradlab.models.vision.whitened import WhitenedCNN, WhitenedSettings, whitened_cnn

__all__ = [
    "DenseNetSettings",
    "LeNetSettings",
    "ResNetKnobs",
    "VGGSettings",
    "ViTSettings",
    "VisionTransformer",
    "WhitenedCNN",
    "WhitenedSettings",
    "cifar_cnn",
    "densenet",
    "lenet",
    "resnet18",
    "resnet20",
    "resnet32",
    "resnet34",
    "resnet50",
    "resnet56",
    "resnext50",
    "vgg",
    "vit",
    "whitened_cnn",
]
