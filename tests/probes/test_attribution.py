"""What of pictures speaks for classes: which are asked about, what is told of them, and within which effort."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.models.cost import forward_flops
from gradlab.probes import METHODS, attributions, questions, saliency
from gradlab.probes.attribution import _COARSE, _FINE

NAMES = ["ant", "bee", "cat"]


@pytest.fixture
def x():
    return torch.randn(4, 3, 14, 14, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 12 * 12, 3))


@pytest.fixture
def asked(x):
    return questions(x.numpy(), x, [0, 1, 2, 0], [0, 2, 2, 1])


def test_a_wrong_class_is_asked_about_and_the_actual_one_too(x):
    both = questions(x.numpy(), x, [0, 1, 2, 0], [0, 2, 2, 1])
    assert [(one.example, one.label, one.actual) for one in both] == [
        (0, 0, 0), (1, 1, 2), (1, 2, 2), (2, 2, 2), (3, 0, 1), (3, 1, 1),
    ]  # fmt: skip
    unknown = questions(x.numpy(), x, [0, 1, 2, 0], None)
    assert [(one.label, one.actual) for one in unknown] == [(0, None), (1, None), (2, None), (0, None)]


def test_each_is_what_the_methods_give_of_it_alone(network, x, asked):
    found = attributions(network, asked, NAMES, 1e12)
    assert found.layer == "1"
    assert found.notes == []
    item = found.items[2]
    assert (item.example, item.label, item.actual) == (1, "cat", "cat")
    assert list(item.maps) == list(METHODS)
    one = x[1:2]
    assert_close(item.maps["gradient"], saliency.gradient(network, one, 2)[0].sum(0))
    assert_close(item.maps["integrated gradients"], saliency.integrated_gradients(network, one, 2)[0].sum(0))
    assert_close(item.maps["Grad-CAM"], saliency.grad_cam(network, one, 2)[0])
    assert_close(item.maps["occlusion"], saliency.occlusion(network, one, 2)[0])
    scores = network(one)[0]
    assert item.probability == pytest.approx(scores.softmax(0)[2].item(), rel=1e-5)
    assert item.difference == pytest.approx((scores - network(0 * one)[0])[2].item(), rel=1e-5)
    assert item.maps["integrated gradients"].sum().item() == pytest.approx(item.difference, rel=1e-3)
    assert np.array_equal(item.picture, x[1].numpy())
    json.dumps(item.plain(), allow_nan=False)


def test_what_a_large_model_costs_is_bounded_first_by_coarser_maps_then_by_fewer_pictures(network, x, asked):
    once = forward_flops(network, x[:1])
    fine, coarse = (len(asked) * once * effort.passes(x) for effort in (_FINE, _COARSE))
    assert coarse < fine / 2
    exact = attributions(network, asked, NAMES, fine).items[0].maps["occlusion"]
    rough = attributions(network, asked, NAMES, fine - 1)
    assert len(rough.items) == len(asked)
    assert not torch.equal(rough.items[0].maps["occlusion"], exact)
    few = attributions(network, asked, NAMES, coarse / 2)
    assert len(few.items) == 3
    assert few.notes == ["3 of 6 are shown: the model is large, and each takes long."]
    assert len(attributions(network, asked, NAMES, 0.0).items) == 1


def test_a_model_without_places_has_the_other_maps_and_says_so(x, asked):
    found = attributions(nn.Sequential(nn.Flatten(), nn.Linear(3 * 14 * 14, 3)), asked, NAMES, 1e12)
    assert list(found.items[0].maps) == ["gradient", "integrated gradients", "occlusion"]
    assert found.notes == ["There is no Grad-CAM: no convolution of the model keeps the places of a picture."]


def test_two_classes_of_one_output_have_the_probabilities_of_its_sigmoid(x):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 14 * 14, 1))
    found = attributions(model, questions(x.numpy(), x, [1, 1, 0, 0], None), ["no", "yes"], 1e12)
    odds = model(x)[:, 0].sigmoid()
    got = [item.probability for item in found.items]
    assert got == pytest.approx([*odds[:2].tolist(), *(1 - odds[2:]).tolist()], rel=1e-5)


@pytest.mark.parametrize("targets", [None, torch.tensor([0, 1, 2, 0])])
def test_a_strangers_module_is_explained_where_it_sorts_pictures(network, x, targets):
    probe = gl.probe(network, x, targets)
    labels = network(x).argmax(1).tolist()
    assert [item.label for item in probe.attributions.items if item.label != item.actual or targets is None] == [
        str(label) for i, label in enumerate(labels) if targets is None or label != targets[i]
    ]
    assert "What speaks for the class" in str(probe)


def test_other_modules_are_not_explained(network, x):
    for model, inputs, targets in [
        (network, x, torch.randn(4, 3)),
        (nn.Linear(5, 3), torch.randn(4, 5), None),
        (nn.Conv2d(3, 4, 3), x, None),
        (nn.Sequential(nn.Conv2d(5, 4, 3), nn.Flatten(), nn.Linear(4 * 12 * 12, 3)), torch.randn(4, 5, 14, 14), None),
    ]:
        assert gl.probe(model, inputs, targets).attributions.items == []


def test_a_module_that_takes_one_size_of_batch_alone_is_looked_into_without(x):
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3 * 14 * 14, 3)

        def forward(self, x):
            return self.head(x.view(4, -1))

    probe = gl.probe(Fixed(), x)
    assert probe.layers
    assert probe.attributions.items == []
    assert probe.notes[0].startswith("What speaks for the classes is left out: ")


def test_a_model_that_is_broken_has_a_page_all_the_same(network, x, tmp_path):
    network[0].weight.data.fill_(torch.nan)
    probe = gl.probe(network, x)
    json.dumps(probe.plain(), allow_nan=False)
    assert "What speaks for the class" in probe.to_html(tmp_path / "probe.html").read_text()
