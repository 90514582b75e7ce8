"""What is known of the perceptron."""

from typing import Any

import torch
from torch import Tensor

from gradlab.nn.perceptron import Perceptron
from gradlab.scratch import perceptron
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Fault, conform, example, law
from gradlab.verification.subject import Incomparable

BLOCK = "neuron.perceptron"


def _drawn(case: Case) -> tuple[Any, Tensor, list[Tensor]]:
    """A perceptron, examples, and its weights as they are now."""
    x = case.tensor("x", case.integer("batch", 1, 8), case.integer("in_features", 1, 4)).detach()
    block = case.build(in_features=x.shape[1])
    return block, x, [weight.detach().clone() for weight in case.weights(block, "weight", "bias").values()]


def _output(case: Case) -> Call:
    block, x, weights = _drawn(case)
    return Call(lambda x, *_: block(x), (x, *weights))


def _learned(case: Case) -> Call:
    if not case.place.is_exact:
        raise Incomparable("what it learns hangs on a threshold, at which a rounding decides")
    block, x, weights = _drawn(case)
    target, lr = case.indices("target", len(x), below=2).to(x), case.real("lr", 0.1, 2)
    block.learn(x, target, lr)
    return Call(lambda *_: (block.weight, block.bias), (x, target, *weights), options={"lr": lr})


conform(BLOCK, _output, twin=perceptron.perceptron)
conform(BLOCK, _learned, twin=perceptron.learn)
example(BLOCK, call=lambda n, d: ({"in_features": d}, (torch.randn(n, d),)), n=5, d=3)


@law(BLOCK, fault=Fault(learn=lambda self, x, target, lr=1.0: Perceptron.learn(self, x, target, -lr)))
def mistakes_on_separable_examples_are_bounded(case: Case) -> float:
    """at most (R / γ)² mistakes, whatever the order"""
    d = case.integer("in_features", 1, 3)
    x = case.tensor("x", case.integer("batch", 2, 8), d).detach()
    normal = case.tensor("normal", d + 1).detach() + 0.1
    with_bias = torch.cat([x, torch.ones(len(x), 1)], 1)
    side = with_bias @ normal / normal.norm()
    x, with_bias, side = (values[side.abs() > 0.2] for values in (x, with_bias, side))
    if not len(side):
        return 0.0
    bound = float((with_bias.norm(dim=1).max() / side.abs().min()) ** 2)
    block, mistakes = case.build(in_features=d), 0
    case.set(block, weight=0.0, bias=0.0)
    while (now := block.learn(x, (side > 0).to(x))) and mistakes <= bound:
        mistakes += now
    return max(0.0, mistakes - bound)
