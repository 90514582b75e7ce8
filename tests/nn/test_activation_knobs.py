import math

import pytest
import torch
from torch.testing import assert_close

from gradlab.nn.activation_knobs import activations
from gradlab.registry import Part

EQUATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "leaky-relu": lambda x: x if x >= 0 else 0.3 * x,
    "elu": lambda x: x if x >= 0 else 1.7 * (math.exp(x) - 1),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": lambda x: (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
}
KNOBS = {"leaky-relu": {"slope": 0.3}, "elu": {"alpha": 1.7}}


def build(name, **values):
    return activations.build(activations.resolve(Part(name, values), "activation"))


def test_every_activation_has_its_equation_here():
    assert activations.names() == sorted(EQUATIONS)


@pytest.mark.parametrize("name", sorted(EQUATIONS))
def test_values_and_slopes_are_those_of_the_equation(name):
    x = torch.tensor([-3.0, -1.2, -0.4, 0.3, 1.1, 2.5], dtype=torch.float64, requires_grad=True)
    y = build(name, **KNOBS.get(name, {}))(x)
    assert_close(y, torch.tensor([EQUATIONS[name](v) for v in x.tolist()], dtype=torch.float64))
    h = 1e-6
    slopes = [(EQUATIONS[name](v + h) - EQUATIONS[name](v - h)) / (2 * h) for v in x.tolist()]
    assert_close(torch.autograd.grad(y.sum(), x)[0], torch.tensor(slopes, dtype=torch.float64), rtol=1e-6, atol=1e-8)


def test_relu_has_slope_zero_at_zero():
    x = torch.zeros(1, requires_grad=True)
    assert torch.autograd.grad(build("relu")(x).sum(), x)[0].item() == 0.0


def test_the_tanh_form_of_gelu_is_near_the_exact_one_and_not_equal():
    x = torch.linspace(-4, 4, 101)
    gap = (build("gelu", form="tanh")(x) - build("gelu")(x)).abs().max().item()
    assert 0 < gap < 1e-3
