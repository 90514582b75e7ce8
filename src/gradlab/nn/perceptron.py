"""The perceptron: the first neuron that learned."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.registry import Count


@block("neuron.perceptron", flops="2·n·d", memory="O(n)")
class Perceptron(nn.Module):
    r"""A neuron that says on which side of a hyperplane its input lies.

    $$ y = \mathrm{step}(w^\top x + b) $$

    No gradient passes a step, so it has a learning rule of its own, `learn`: where it is wrong, the plane is moved
    towards the example.

    $$ w \leftarrow w + \eta \, (t - y) \, x, \qquad b \leftarrow b + \eta \, (t - y) $$

    If some plane through the origin separates the examples with a margin γ and none is longer than R, both counted with
    a 1 appended for the bias, at most (R/γ)² mistakes are made (Novikoff 1962). If none does, it never rests.

    >>> gate = Perceptron(2)
    >>> x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> while gate.learn(x, torch.tensor([0.0, 0.0, 0.0, 1.0])): pass
    >>> gate(x).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    def __init__(self, in_features: Count):
        super().__init__()
        self.in_features = in_features
        self.weight = nn.Parameter(torch.zeros(in_features))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Float[Tensor, "*batch {self.in_features}"]) -> Float[Tensor, "*batch"]:
        z = x @ self.weight + self.bias
        return (z >= 0).to(x.dtype)

    @torch.no_grad()
    def learn(
        self, x: Float[Tensor, "batch {self.in_features}"], target: Float[Tensor, " batch"], lr: float = 1.0
    ) -> int:
        """One pass over the examples in their order; targets are 0 and 1. Returns how many mistakes were made."""
        mistakes = 0
        for example, wanted in zip(x, target, strict=True):
            error = wanted - self(example)
            self.weight.add_(lr * error * example)
            self.bias.add_(lr * error)
            mistakes += int(error != 0)
        return mistakes
