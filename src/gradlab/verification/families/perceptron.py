"""What is known of the perceptron."""

import torch
from torch import Tensor

from gradlab.nn.perceptron import Perceptron
from gradlab.scratch import perceptron
from gradlab.verification.case import Case
from gradlab.verification.checks import Fault, example, law, twin
from gradlab.verification.comparing import difference


def _examples(case: Case) -> tuple[Tensor, Tensor]:
    x = case.tensor("x", case.integer("batch", 1, 8), case.integer("in_features", 1, 4)).detach()
    return x, case.indices("target", len(x), below=2).to(x)


@twin("neuron.perceptron", perceptron.perceptron)
def output(case: Case) -> float:
    x, _ = _examples(case)
    block = case.build(in_features=x.shape[1])
    weight, bias = (w.detach().numpy() for w in case.weights(block, "weight", "bias").values())
    return difference(block(x), torch.from_numpy(perceptron.perceptron(x.numpy(), weight, float(bias))))


@twin("neuron.perceptron", perceptron.learn)
def learning_rule(case: Case) -> float:
    x, target = _examples(case)
    block, lr = case.build(in_features=x.shape[1]), case.real("lr", 0.1, 2)
    weight, bias = (w.detach().clone().numpy() for w in case.weights(block, "weight", "bias").values())
    wanted = perceptron.learn(x.numpy(), target.numpy(), weight, float(bias), lr)
    block.learn(x, target, lr)
    return difference((block.weight, block.bias), tuple(torch.as_tensor(w, dtype=torch.float64) for w in wanted))


@law("neuron.perceptron", fault=Fault(learn=lambda self, x, target, lr=1.0: Perceptron.learn(self, x, target, -lr)))
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


example("neuron.perceptron", call=lambda n, d: ({"in_features": d}, (torch.randn(n, d),)), n=5, d=3)
