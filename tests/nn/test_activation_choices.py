import math
from typing import Annotated

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn.activations import Activation, activations
from gradlab.nn.blocks import block, blocks
from gradlab.registry import Part, Positive

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
    "prelu": lambda x: x if x >= 0 else 0.25 * x,
    "step": lambda x: float(x >= 0),
}
KNOBS = {"leaky-relu": {"negative_slope": 0.3}, "elu": {"alpha": 1.7}}


def build(name, **values):
    return activations.build(activations.resolve(Part(name, values), "activation"))


def test_every_activation_of_single_entries_has_its_equation_here():
    entrywise = [name for name in activations if issubclass(activations[name], Activation)]
    assert entrywise == sorted(activations.spelled(name) for name in EQUATIONS)
    assert {*activations} - {*entrywise} == {"softmax", "argmax"}


def test_a_block_of_ones_own_is_a_choice_too(monkeypatch):
    monkeypatch.setattr(blocks, "_things", dict(blocks._things))

    @block("activation.half")
    class Half(Activation):
        def __init__(self, by: Annotated[Positive, "what it divides by"] = 2.0):
            super().__init__()
            self.by = by

        def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
            return x / self.by

    assert build("half", by="4")(torch.ones(1)).item() == 0.25
    assert repr(build("half")) == "Half(by=2.0)"
    with pytest.raises(GradlabError, match=r"^activation\.by=0 is not valid: Input should be greater than 0"):
        build("half", by=0)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("leaky-relu", {"slope": "0.3"}, {"negative_slope": 0.3}),
        ("gelu", {"form": "exact"}, {"approximate": "none"}),
        ("gelu", {"form": "tanh"}, {"approximate": "tanh"}),
    ],
)
def test_knobs_of_earlier_versions_are_still_read(name, old, new):
    assert activations.resolve(Part(name, old), "activation") == Part(name.replace("-", "_"), new)
    (key,) = old
    with pytest.raises(GradlabError, match=f"^activation.{key}=bent is not valid"):
        activations.resolve(Part(name, {key: "bent"}), "activation")


@pytest.mark.parametrize("name", sorted(EQUATIONS))
def test_values_and_slopes_are_those_of_the_equation(name):
    x = torch.tensor([-3.0, -1.2, -0.4, 0.3, 1.1, 2.5], dtype=torch.float64, requires_grad=True)
    y = build(name, **KNOBS.get(name, {})).double()(x)
    assert_close(y, torch.tensor([EQUATIONS[name](v) for v in x.tolist()], dtype=torch.float64))
    h = 1e-6
    slopes = [(EQUATIONS[name](v + h) - EQUATIONS[name](v - h)) / (2 * h) for v in x.tolist()]
    if not y.requires_grad:
        return
    assert_close(torch.autograd.grad(y.sum(), x)[0], torch.tensor(slopes, dtype=torch.float64), rtol=1e-6, atol=1e-8)


def test_relu_has_slope_zero_at_zero():
    x = torch.zeros(1, requires_grad=True)
    assert torch.autograd.grad(build("relu")(x).sum(), x)[0].item() == 0.0


def test_the_tanh_form_of_gelu_is_near_the_exact_one_and_not_equal():
    x = torch.linspace(-4, 4, 101)
    gap = (build("gelu", approximate="tanh")(x) - build("gelu")(x)).abs().max().item()
    assert 0 < gap < 1e-3
