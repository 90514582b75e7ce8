"""Networks for pictures."""

from gradlab.models.vision.densenet import densenet
from gradlab.models.vision.lenet import cifar_cnn, lenet
from gradlab.models.vision.resnet import resnet18, resnet20, resnet32, resnet34, resnet50, resnet56, resnext50
from gradlab.models.vision.vgg import vgg
from gradlab.models.vision.vit import VisionTransformer, vit

__all__ = [
    "VisionTransformer",
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
]
