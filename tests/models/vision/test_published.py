"""Sizes that others have published, and the names and shapes of torchvision's weights."""

from hashlib import sha256

import pytest
import torch

from gradlab.models import build_model, cifar_cnn, lenet, models
from gradlab.models.cost import parameter_count
from gradlab.registry import Part
from gradlab.specs import Picture

# What torchvision 0.29 has: the function, its parameters, and the SHA-256 sum of the lines "NAME SHAPE" of its weights.
TORCHVISION = {
    "resnet18": ("resnet18", 11_689_512, "84fb10d9c6905a1cbb020b284537dc97c4f4ec55fb2a780a41152a23a2dd0e9d"),
    "resnet34": ("resnet34", 21_797_672, "28f9096d5130749948981c6900083e57b19456b8b835829b8bdfe415bddc3f32"),
    "resnet50": ("resnet50", 25_557_032, "d7e4f8bb0a5363446a59c81c3887ccf66900a11651a0ae2dec96d1bb1eb6ea81"),
    "resnext50": ("resnext50_32x4d", 25_028_904, "e3bad165c034e60f32252299590de03a18c741ca96e086f8a6b03dc5b9aaf666"),
    "densenet": ("densenet121", 7_978_856, "aa0fd9923b0003b813430af55d9350bcf2555273dedae08042b92025727ccac8"),
}

# Of ten classes of CIFAR-10; He et al. 2015, table 6, and Huang et al. 2016, table 2, give millions.
CIFAR = {
    "cifar-cnn": ({}, 62_006),
    "resnet20": ({}, 269_722),  # 0.27
    "resnet32": ({}, 464_154),  # 0.46
    "resnet56": ({}, 853_018),  # 0.85
    "densenet": ({"layers": [16, 16, 16], "growth": 12}, 769_162),  # 0.8
}


def on_meta(name, values, inputs, outputs):
    with torch.device("meta"):
        return models.build(models.resolve(Part(name, values), "model"), inputs, outputs)


@pytest.mark.parametrize("name", TORCHVISION)
def test_names_and_shapes_are_those_of_torchvision(name):
    model = on_meta(name, {}, Picture(3, 224, 224), 1000)
    lines = "\n".join(f"{key} {tuple(value.shape)}" for key, value in model.state_dict().items())
    assert (parameter_count(model), sha256(lines.encode()).hexdigest()) == TORCHVISION[name][1:]


@pytest.mark.parametrize("name", TORCHVISION)
@pytest.mark.parametrize("training", [False, True])
def test_logits_are_those_of_torchvision(name, training):
    torchvision = pytest.importorskip("torchvision", exc_type=(ImportError, RuntimeError))
    peer = getattr(torchvision.models, TORCHVISION[name][0])(num_classes=7).train(training)
    model = build_model(Part(name), Picture(3, 64, 64), 7).train(training)
    peer.load_state_dict(model.state_dict())
    x = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(model(x), peer(x))


@pytest.mark.parametrize("name", CIFAR)
def test_networks_for_cifar_have_the_published_sizes(name):
    values, parameters = CIFAR[name]
    assert parameter_count(on_meta(name, values, Picture(3, 32, 32), 10)) == parameters


def test_the_course_s_network_has_its_names_and_no_padding():
    model = cifar_cnn(Picture(3, 32, 32), 10)
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items() if name.endswith("weight")}
    assert shapes == {
        "conv1.weight": (6, 3, 5, 5),
        "conv2.weight": (16, 6, 5, 5),
        "fc1.weight": (120, 400),
        "fc2.weight": (84, 120),
        "fc3.weight": (10, 84),
    }
    assert model.conv1.padding == (0, 0)
    assert list(lenet(Picture(1, 28, 28), 10).state_dict())[:2] == ["0.weight", "0.bias"]  # as saved runs have it
