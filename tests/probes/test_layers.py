"""Figures of layers, beside the same computed by hand."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gradlab import nn as blocks
from gradlab.models import lenet, mlp
from gradlab.models.cost import parameter_count
from gradlab.models.language import TransformerLanguageModel
from gradlab.nn.attention import MultiheadAttention
from gradlab.probes import findings, layer_values, record
from gradlab.registry import Part
from gradlab.specs import Picture, Table


def figures(model, x, loss=None):
    return {line.name: line for line in layer_values(record(model, x, loss=loss))}


def test_figures_are_those_of_a_plain_pass():
    model, x = mlp(Table(7), 3, hidden=[40]), torch.randn(50, 7)
    found = figures(model, x, lambda output: output.square().mean())
    first = F.linear(x, model[0].weight, model[0].bias)
    bent = F.relu(first)
    output = F.linear(bent, model[2].weight, model[2].bias)
    of_first, of_weight, of_bias = torch.autograd.grad(output.square().mean(), [first, model[0].weight, model[0].bias])
    line = found["0"]
    assert (line.kind, line.shape, line.parameters) == ("Linear", (40,), 320)
    assert line.outputs.mean == pytest.approx(first.mean().item(), abs=1e-6)
    assert line.outputs.std == pytest.approx(first.std(correction=0).item())
    assert line.gradient == pytest.approx(of_first.norm().item())
    weight = math.hypot(model[0].weight.norm().item(), model[0].bias.norm().item())
    assert line.weight == pytest.approx(weight)
    assert line.weight_gradient == pytest.approx(math.hypot(of_weight.norm().item(), of_bias.norm().item()))
    assert line.ratio == pytest.approx(line.weight_gradient / weight)
    assert found["1"].zeros == pytest.approx((bent == 0).float().mean().item())
    assert found["1"].dead == (bent == 0).all(0).sum().item()
    assert sum(line.outputs.counts) == first.numel()
    assert line.outputs.edges[0] == pytest.approx(first.min().item())
    assert line.outputs.edges[-1] == pytest.approx(first.max().item())
    assert line.outputs.quantiles[2] == pytest.approx(first.double().quantile(0.5).item())


def test_a_unit_is_dead_if_it_is_zero_for_every_example():
    model = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU())
    model[0].weight.data = torch.tensor([[1.0, 0.0], [-1.0, -1.0], [1.0, -1.0]])
    line = figures(model, torch.tensor([[1.0, 2.0], [2.0, 1.0]] * 4))["1"]
    assert (line.units, line.dead) == (3, 1)
    assert line.zeros == pytest.approx(3 / 6)


def test_of_a_few_examples_nothing_is_said_of_dead_units():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    model[0].bias.data -= 100
    assert figures(model, torch.randn(7, 2))["1"].dead == 0
    assert figures(model, torch.randn(8, 2))["1"].dead == 3


def test_units_of_pictures_are_channels():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    model[0].bias.data = torch.tensor([10.0, -10.0, 10.0, 10.0])
    line = figures(model, torch.rand(3, 1, 8, 8))["1"]
    assert line.units == 4
    assert line.dead == 1


@pytest.mark.parametrize("made", [nn.Tanh, nn.Sigmoid, nn.ReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Softplus])
def test_an_input_is_saturated_where_the_slope_is_small(made):
    x = torch.linspace(-8, 8, 1601, dtype=torch.float64, requires_grad=True)
    for activation in (made(), getattr(blocks, made.__name__)()):
        (slope,) = torch.autograd.grad(activation(x).sum(), x)
        # The slopes of GELU and SiLU pass through 0 on their way to the flat part, which is not counted.
        flat = slope.abs() < 0.01
        flat = flat.flip(0).cummin(0).values.flip(0) & (x > 0) | flat.cummin(0).values & (x <= 0)
        share = figures(nn.Sequential(activation), x.detach()[None])["0"].saturated
        assert 0 < share == pytest.approx(flat.double().mean().item(), abs=2e-3)


def test_a_saturated_network_is_found():
    model = mlp(Table(4), 2, hidden=[16], activation=Part("tanh"))
    model[0].weight.data *= 1000
    lines = layer_values(record(model, torch.randn(20, 4), loss=torch.sum))
    assert lines[1].saturated > 0.9
    assert any("saturated" in finding for finding in findings(lines))


def test_dead_layers_vanished_gradients_and_numbers_that_are_none_are_found():
    model = nn.Sequential(*(part for _ in range(12) for part in (nn.Linear(8, 8), nn.Sigmoid())))
    for layer in model[::2]:
        nn.init.normal_(layer.weight, std=0.1)
    x = torch.randn(16, 8)
    assert any("vanishes" in f for f in findings(layer_values(record(model, x, loss=torch.sum))))
    model[0].bias.data[0] = math.nan
    lines = layer_values(record(model, x))
    assert lines[0].broken == 16
    assert math.isfinite(lines[0].outputs.mean)
    assert "NaN" in findings(lines)[0]
    dead = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    dead[0].bias.data -= 100
    assert "8 of 8 units" in findings(layer_values(record(dead, x)))[0]
    sound = mlp(Table(8), 2, hidden=[16])
    assert findings(layer_values(record(sound, x, loss=torch.sum))) == []


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (lenet(Picture(1, 28, 28), 10), torch.rand(2, 1, 28, 28)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 5, 8)),
        (MultiheadAttention(8, 2), torch.randn(2, 5, 8)),
    ],
)
def test_every_parameter_belongs_to_one_line(model, x):
    assert sum(line.parameters for line in figures(model, x).values()) == parameter_count(model)


@pytest.mark.parametrize("learns", [False, True])
def test_a_gradient_vanishes_only_where_something_should_learn(learns):
    model = TransformerLanguageModel(11, 8, dim=16, layers=2, heads=2, position="rotary")
    figures = layer_values(record(model, torch.randint(11, (4, 8)), loss=lambda logits: logits.logsumexp(-1).mean()))
    chosen = next(layer for layer in figures if bool(layer.parameters) == learns)
    faded = [replace(layer, gradient=1e-12) if layer is chosen else layer for layer in figures]
    assert any("vanishes" in finding for finding in findings(faded)) == learns
