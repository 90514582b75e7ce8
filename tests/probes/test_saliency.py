"""Saliency beside Captum's, by the laws that define it, and on every model of pictures."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.models import build_model
from gradlab.probes import saliency
from gradlab.registry import Part
from gradlab.specs import Picture

CLASSES = torch.tensor([2, 0, 1])


@pytest.fixture
def x():
    return torch.randn(3, 2, 11, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def network():
    """With a dropout, whose mask would show, and running statistics, which would move."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1),
        nn.BatchNorm2d(5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Conv2d(5, 6, 3),
        nn.ReLU(inplace=True),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(6 * 3 * 2, 3),
    ).double()


@pytest.fixture
def pooled():
    """Ends in a mean over all places, and a linear map of it."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(2, 5, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3)).double()


def captum(method, network, *arguments, inputs, **options):
    peer = getattr(pytest.importorskip("captum.attr"), method)
    wanted = inputs.clone().requires_grad_()
    return peer(network.eval(), *arguments).attribute(wanted, **options).detach()


def test_the_gradient_is_captums(network, x):
    assert_close(
        saliency.gradient(network, x, CLASSES), captum("Saliency", network, inputs=x, target=CLASSES, abs=False)
    )


@pytest.mark.parametrize("steps", [1, 7, 50])
@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_integrated_gradients_are_captums(network, x, steps, baseline):
    want = captum("IntegratedGradients", network, inputs=x, target=CLASSES, n_steps=steps, baselines=baseline)
    assert_close(saliency.integrated_gradients(network, x, CLASSES, baseline, steps), want)


@pytest.mark.parametrize("layer", ["0", "2", "4"])
def test_grad_cam_is_captums(network, x, layer):
    named = dict(network.named_modules())[layer]
    want = captum("LayerGradCam", network, named, inputs=x, target=CLASSES, relu_attributions=True)
    assert want.any()
    assert_close(saliency.grad_cam(network, x, CLASSES, layer), want[:, 0])


@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 3), (4, 2), (4, 3), (20, 1)])
@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_occlusion_is_captums(network, x, window, stride, baseline):
    got = saliency.occlusion(network, x, CLASSES, window, stride, baseline)
    sides = {"sliding_window_shapes": (2, min(window, 11), min(window, 9)), "strides": (2, stride, stride)}
    want = captum("Occlusion", network, inputs=x, target=CLASSES, baselines=baseline, **sides)
    assert_close(got.float(), want[:, 0], rtol=1e-5, atol=1e-6)  # Captum's are in single precision


def test_shares_add_up_to_the_difference_from_the_baseline(network, x):
    """Completeness, with more steps ever more exactly."""
    network.eval()
    difference = (network(x) - network(torch.full_like(x, 0.3))).gather(1, CLASSES[:, None])[:, 0]
    gaps = [
        (saliency.integrated_gradients(network, x, CLASSES, 0.3, steps).sum((1, 2, 3)) - difference).abs().max().item()
        for steps in (2, 300)
    ]
    assert gaps[1] < 0.01 * gaps[0]
    assert gaps[1] < 2e-3 * difference.abs().max()


def test_the_gradient_of_a_linear_model_is_its_weights(x):
    model = nn.Sequential(nn.Flatten(), nn.Linear(2 * 11 * 9, 3)).double()
    assert_close(saliency.gradient(model, x, CLASSES).flatten(1), model[1].weight[CLASSES].detach())
    shares = saliency.integrated_gradients(model, x, CLASSES, steps=1)
    assert_close(shares, x * model[1].weight[CLASSES].detach().view_as(x))


def test_to_cover_what_is_ignored_changes_nothing(x):
    class LeftHalf(nn.Module):
        def forward(self, x):
            return torch.stack([x[..., :4].sum((1, 2, 3)), x[..., :4].square().sum((1, 2, 3))], 1)

    falls = saliency.occlusion(LeftHalf(), x, 1, window=2, stride=2)
    assert not falls[..., 4:].any()
    assert (falls[..., :4] > 0).all()


def test_grad_cam_before_a_mean_and_a_linear_map_is_cam(pooled, x):
    """Zhou et al. 2015: the weights of the linear map, times the maps; n times as large."""
    maps = pooled[1](pooled[0](x))
    cam = torch.einsum("bc,bchw->bhw", pooled[4].weight[CLASSES], maps).relu()
    assert_close(saliency.grad_cam(pooled, x, CLASSES), (cam / maps[0, 0].numel()).detach())


def test_a_model_of_one_output_has_two_classes(x):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 9 * 7, 1)).double()
    slopes = captum("Saliency", model, inputs=x, target=0, abs=False)
    assert_close(saliency.gradient(model, x, 1), slopes / 2)
    assert_close(saliency.gradient(model, x, 0), -slopes / 2)
    assert saliency.grad_cam(model, x, 0).any()


METHODS = [saliency.gradient, saliency.integrated_gradients, saliency.grad_cam, saliency.occlusion]


@pytest.mark.parametrize("method", METHODS)
def test_the_model_its_gradients_and_its_mode_are_left_alone(network, x, method):
    network.train()
    network[6].eval()
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():
        result = method(network, x, CLASSES)
        assert_close(result, method(network, x, CLASSES), rtol=0, atol=0)
    assert not result.requires_grad
    assert not x.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all((parameter.grad == 1).all() for parameter in network.parameters())
    assert [part.training for part in network] == [True] * 6 + [False] + [True] * 2


@pytest.mark.parametrize("method", METHODS)
def test_many_pictures_are_what_each_is_alone(network, x, method, monkeypatch):
    alone = torch.cat([method(network, x[i : i + 1], int(CLASSES[i])) for i in range(3)])
    monkeypatch.setattr(saliency, "_AT_ONCE", 5 * x.numel())  # so that copies come in several batches
    assert_close(method(network, x, CLASSES), alone)


PLACES = {  # of pictures of 28×28
    "lenet": (10, 10),
    "cifar-cnn": (8, 8),
    "vgg": (7, 7),
    "resnet20": (7, 7),
    "resnet18": (4, 4),
    "densenet": (14, 14),
    "vit": (7, 7),
}


@pytest.mark.parametrize("name", PLACES)
def test_every_network_of_pictures_has_last_maps(name):
    settings = {"layers": [1, 1], "growth": 4} if name == "densenet" else {}
    model = build_model(Part(name, settings), Picture(3, 28, 28), 4)
    cam = saliency.grad_cam(model, torch.randn(2, 3, 28, 28), torch.tensor([0, 3]))
    assert cam.shape == (2, *PLACES[name])
    assert cam.isfinite().all()


@pytest.mark.parametrize("name", ["mlp", "softmax", "highway"])
def test_a_model_without_places_says_so(name):
    model, x = build_model(Part(name), Picture(1, 8, 8), 4), torch.randn(2, 1, 8, 8)
    assert saliency.grad_cam_layer(model, x) is None
    with pytest.raises(gl.GradlabError, match="no layer of this model is a convolution"):
        saliency.grad_cam(model, x, 0)
    assert saliency.gradient(model, x, 0).any()
    assert saliency.occlusion(model, x, 0).shape == (2, 8, 8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, x: saliency.gradient(m, x, 3), "Classes are from 0 to 2, got 3"),
        (lambda m, x: saliency.gradient(m, x, torch.tensor([1])), "3 pictures need 3 classes"),
        (lambda m, x: saliency.gradient(m, x, -1), "Classes are from 0 to 2, got -1"),
        (lambda m, x: saliency.occlusion(m, x[:0], 1), "the batch is empty"),
        (lambda m, x: saliency.gradient(m[:1], x, 1), "a row of scores for each picture"),
        (lambda m, x: saliency.integrated_gradients(m, x, 1, steps=0), "at least one step"),
        (lambda m, x: saliency.occlusion(m, x, 1, window=2, stride=3), "do not cover a picture"),
        (lambda m, x: saliency.occlusion(m, x[0], 1), "shape .batch, channels, height, width."),
        (lambda m, x: saliency.grad_cam(m, x, 1, "nine"), "There is no layer 'nine'. Valid: 0"),
        (lambda m, x: saliency.grad_cam(m, x, 1, "8"), r"gives shape \(3, 3\)"),
    ],
)
def test_what_cannot_be_asked_is_told(network, x, call, words):
    with pytest.raises(gl.GradlabError, match=words):
        call(network, x)
