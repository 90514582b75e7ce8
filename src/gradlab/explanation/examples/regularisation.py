"""Worked examples of regularisation."""

from math import ceil

import torch

from gradlab.explanation.walk import Step, worked
from gradlab.models.mlp import mlp
from gradlab.nn import Dropout
from gradlab.specs import Table


@worked("dropout-code", "Dropout in a network, in training and at test time")
def dropout_code() -> list[Step]:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        x, drop = torch.ones(10), Dropout(0.5)
        once = [drop(x) for _ in range(2)]
        share = float((Dropout(0.2)(torch.ones(100_000)) == 0).float().mean())
        network = mlp(Table(784), 10, hidden=[128], dropout=0.2)
        picture = torch.rand(1, 784)
        trained = [network.train()(picture) for _ in range(2)]
        network.eval()
        tested = [network(picture) for _ in range(2)]
    layers = ", ".join(type(layer).__name__ for layer in network.children())
    return [
        Step(
            "The number is the probability of dropping. What is kept is enlarged, so that the mean stays.",
            r"y = \frac{r \odot x}{1 - p}, \qquad r_i \sim \mathrm{Bernoulli}(1 - p)",
            "Dropout(0.5) of ten ones: " + ", then ".join(" ".join(f"{v:g}" for v in y.tolist()) for y in once),
        ),
        Step(
            "Of Dropout(0.2), a fifth is dropped, and the others are 1.25.",
            r"\frac{1}{1 - 0.2} = 1.25",
            f"dropped {share:.3f}",
        ),
        Step("In a network it follows an activation.", "", layers),
        Step(
            "In training, each call draws another of the 2¹²⁸ thinned networks.",
            "",
            f"two calls differ by up to {(trained[0] - trained[1]).abs().max():.2f}",
        ),
        Step(
            "At test time (`eval`), nothing is dropped: the same picture has the same answer.",
            r"y = x",
            f"two calls differ by up to {(tested[0] - tested[1]).abs().max():g}",
        ),
        Step(
            "Of n units n(1 − p) are left on average: who needs m should have m/(1 − p).",
            r"n = \frac{m}{1 - p}",
            f"for 128 units that are left with p = 0.2: {ceil(128 / 0.8)}",
        ),
    ]
