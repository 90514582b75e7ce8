"""All networks for pictures: they learn, take grey pictures of any shape, and refuse what is too small for them."""

import pytest
import torch
import torch.nn.functional as F

from gradlab.errors import GradlabError
from gradlab.models import build_model, models
from gradlab.models.building import taken
from gradlab.models.vision.resnet import padded
from gradlab.registry import Part
from gradlab.specs import Picture

RESNETS = ["resnet18", "resnet20", "resnet32", "resnet34", "resnet50", "resnet56", "resnext50"]
SMALL = {
    **{name: {"width": 4} for name in RESNETS},
    "cifar-cnn": {},
    "densenet": {"growth": 4, "layers": [2, 2, 2]},
    "highway": {},
    "lenet": {},
    "vgg": {"widths": [4, 8], "hidden": [16]},
    "vit": {"dim": 16, "layers": 2},
    "whitened-cnn": {"widths": [4, 8]},
}


def test_every_network_for_pictures_is_tried_here():
    drawing = {name for name in models if models[name].__module__.startswith("gradlab.models.generative")}
    assert {name for name in models if taken(name) == (Picture,)} - drawing <= set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_gradients_reach_every_parameter_and_the_loss_falls(name):
    torch.manual_seed(0)
    model = build_model(Part(name, SMALL[name]), Picture(1, 16, 20), 3)
    x, y = torch.randn(12, 1, 16, 20), torch.arange(12) % 3
    if hasattr(model, "fit_inputs"):
        model.fit_inputs(x)
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-3), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    learned = [(name, p.grad) for name, p in model.named_parameters() if p.requires_grad]
    assert [name for name, gradient in learned if gradient is None or not gradient.any()] == []
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize(
    ("name", "values", "shape", "message"),
    [
        ("cifar-cnn", {}, (3, 32, 15), "cifar-cnn needs images of at least 16×16 pixels, got .* Use model=mlp"),
        ("vgg", {}, (1, 7, 9), "vgg of 3 stages needs images of at least 8×8 pixels, got .* Give fewer model.widths"),
        (
            "resnet18",
            {"stem": "large"},
            (3, 31, 31),
            "of 4 stages with the large stem .* 32×32 .* Set model.stem=small",
        ),
        ("resnet18", {}, (3, 7, 7), "with the small stem needs images of at least 8×8 pixels, .* Use model=mlp"),
        ("resnet20", {}, (1, 3, 9), "of 3 stages with the small stem needs images of at least 4×4 pixels"),
        (
            "densenet",
            {"stem": "large"},
            (3, 28, 28),
            "densenet of 4 blocks with the large stem .* 32×32 .*model.stem=small",
        ),
        ("densenet", {}, (3, 7, 7), "densenet of 4 blocks with the small stem needs images of at least 8×8 pixels"),
        ("vit", {"patch": 5}, (3, 32, 32), "patches of 5×5 pixels: take a model.patch that divides both sides"),
    ],
)
def test_pictures_that_do_not_fit_are_refused_with_what_to_do(name, values, shape, message):
    with pytest.raises(GradlabError, match=message):
        build_model(Part(name, values), Picture(*shape), 10)


@pytest.mark.parametrize(
    ("name", "values", "shape"),
    [
        ("cifar-cnn", {}, (3, 16, 16)),
        ("vgg", {"widths": [2, 2, 2]}, (1, 8, 9)),
        ("resnet18", {"width": 2, "stem": "large"}, (3, 32, 35)),
        ("resnet50", {"width": 2}, (1, 8, 8)),
        ("resnet20", {"width": 2}, (1, 4, 5)),
        ("densenet", {"growth": 2, "stem": "large"}, (3, 32, 33)),
        ("densenet", {"growth": 2}, (1, 8, 11)),
        ("vit", {"dim": 8, "layers": 1}, (1, 1, 3)),
    ],
)
def test_the_smallest_pictures_that_fit_pass(name, values, shape):
    model = build_model(Part(name, values), Picture(*shape), 10)
    assert model(torch.randn(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("name", ["resnet18", "densenet"])
def test_the_stem_follows_from_the_size_of_the_pictures(name):
    def stride(size, **values):
        model = build_model(Part(name, {**SMALL[name], **values}), Picture(3, size, size), 10)
        return next(m.stride[0] for m in model.modules() if isinstance(m, torch.nn.Conv2d))

    assert [stride(32), stride(63), stride(64), stride(32, stem="large"), stride(64, stem="small")] == [1, 1, 2, 2, 1]


@pytest.mark.parametrize(
    ("name", "stem", "places"),
    [("resnet20", "small", 8), ("resnet18", "small", 4), ("resnet50", "large", 1), ("densenet", "small", 8)],
)
def test_each_stage_halves_the_pictures(name, stem, places):
    model = build_model(Part(name, {**SMALL[name], "stem": stem}), Picture(1, 32, 32), 10)
    features = model[: list(dict(model.named_children())).index("avgpool")]
    assert features(torch.randn(2, 1, 32, 32)).shape[2:] == (places, places)


@pytest.mark.parametrize(("size", "patches"), [(7, 49), (8, 16), (28, 49), (32, 64), (224, 196)])
def test_patches_follow_from_the_size_of_the_pictures(size, patches):
    model = build_model(Part("vit", SMALL["vit"]), Picture(1, size, size), 10)
    assert model.position.max_length == patches


def test_positions_of_patches_start_as_large_as_what_is_known_of_them():
    model = build_model(Part("vit"), Picture(3, 32, 32), 10)
    patches = model.patches(torch.randn(8, 3, 32, 32))
    assert 0.5 < model.position.weight.std() / patches.std() < 2


def test_a_padded_shortcut_has_every_other_pixel_and_zeros():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert padded(x, more=1, stride=2).tolist() == [[[[0.0, 2.0], [8.0, 10.0]], [[0.0, 0.0], [0.0, 0.0]]]]


def test_a_highway_starts_with_its_gates_almost_closed():
    model = build_model(Part("highway", {"layers": 3, "gate_bias": -5.0}), Picture(1, 4, 4), 2)
    assert all((layer.gate.bias == -5).all() for layer in model if hasattr(layer, "gate"))
    x = torch.randn(5, 1, 4, 4)
    first, last = model[:2](x), model[:5](x)
    assert torch.allclose(first, last, atol=0.1)
    assert not torch.equal(first, last)
