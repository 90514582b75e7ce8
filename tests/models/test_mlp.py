import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import build_model, mlp, models
from gradlab.nn import BatchNorm, Dropout, GroupNorm, Linear, ReLU
from gradlab.nn.normalisation import norms
from gradlab.registry import Part
from gradlab.specs import Picture, Table


def test_output_and_gradients_are_those_of_the_equation():
    model, x = mlp(Table(3), 2, hidden=[5, 4], activation=Part("tanh")), torch.randn(6, 3)
    w1, b1, w2, b2, w3, b3 = model.parameters()
    want = torch.tanh(torch.tanh(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    assert_close(model(x), want)
    upstream = torch.randn(6, 2)
    wrt = tuple(model.parameters())
    assert_close(torch.autograd.grad(model(x), wrt, upstream), torch.autograd.grad(want, wrt, upstream))


def test_no_hidden_layer_leaves_a_linear_map():
    assert [type(layer) for layer in mlp(Table(3), 2, hidden=[])] == [Linear]


def test_normalisation_comes_before_the_activation_and_dropout_after_it():
    kinds = [type(layer) for layer in mlp(Picture(1, 2, 2), 2, hidden=[5], dropout=0.3, norm=Part("batch"))]
    assert kinds == [nn.Flatten, Linear, BatchNorm, ReLU, Dropout, Linear]


def test_the_knobs_of_the_activation_reach_it():
    part = models.resolve(Part("mlp", {"activation": {"name": "leaky-relu", "slope": "0.25"}}), "model")
    model = models.build(part, Table(3), 2)
    assert model[1].negative_slope == 0.25


def test_batch_norm_of_earlier_versions_is_still_read():
    for old, new in {"true": Part("batch", norms.resolve(Part("batch"), "norm").values), False: None}.items():
        assert models.resolve(Part("mlp", {"batch_norm": old}), "model").values["norm"] == new


def test_any_registered_norm_and_initialiser_can_be_named():
    part = Part("mlp", {"hidden": [6], "norm": {"name": "group", "num_groups": 3}, "init": "zeros"})
    model = build_model(part, Table(4), 2)
    assert (type(model[1]), model[1].num_groups, model[1].num_channels) == (GroupNorm, 3, 6)
    assert not model[0].weight.any()
    assert model[0].bias.any()
    assert models.resolve(Part("mlp", {"norm": "none"}), "model").values["norm"] is None
    with pytest.raises(GradlabError, match=r"^There is no norm 'bach'\. Did you mean 'batch'"):
        build_model(Part("mlp", {"norm": "bach"}), Table(4), 2)
