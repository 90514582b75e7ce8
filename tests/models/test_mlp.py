import torch
from torch import nn
from torch.testing import assert_close

from gradlab.models import mlp, models
from gradlab.nn import ReLU
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
    assert [type(layer) for layer in mlp(Table(3), 2, hidden=[])] == [nn.Linear]


def test_normalisation_comes_before_the_activation_and_dropout_after_it():
    kinds = [type(layer) for layer in mlp(Picture(1, 2, 2), 2, hidden=[5], dropout=0.3, batch_norm=True)]
    assert kinds == [nn.Flatten, nn.Linear, nn.BatchNorm1d, ReLU, nn.Dropout, nn.Linear]


def test_the_knobs_of_the_activation_reach_it():
    part = models.resolve(Part("mlp", {"activation": {"name": "leaky-relu", "slope": "0.25"}}), "model")
    model = models.build(part, Table(3), 2)
    assert model[1].negative_slope == 0.25
