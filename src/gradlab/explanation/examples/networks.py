"""Worked examples of networks as functions: how many parameters they have, and what they can be."""

import math

import torch
from torch import Tensor, nn

from gradlab.data import Preprocessing
from gradlab.explanation.walk import Step, worked
from gradlab.models.mlp import mlp
from gradlab.nn import Linear
from gradlab.nn.losses import binary_cross_entropy
from gradlab.specs import Table

CORNERS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def realisation(seed: int) -> nn.Module:
    """The network with 2 inputs, 5 hidden units and 1 output, with normal weights."""
    network = mlp(Table(2), 1, hidden=[5])
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return network.requires_grad_(False)


def counted(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def numbers(values: Tensor, digits: int = 3) -> str:
    return ", ".join(f"{value:.{digits}g}" for value in values.flatten().tolist())


@worked("nn-2-5-1", "A network of 2 inputs, 5 hidden units and 1 output, with random weights")
def nn_2_5_1() -> list[Step]:
    networks = [realisation(seed) for seed in range(3)]
    a1, b1, a2, b2 = networks[0].parameters()
    by_hand = a2 @ torch.relu(a1 @ CORNERS[3] + b1) + b2
    shapes = ", ".join(f"{'×'.join(map(str, p.shape))}" for p in networks[0].parameters())
    return [
        Step(
            "Two affine maps with ReLU between them.",
            r"f(x) = A_2 \, \mathrm{ReLU}(A_1 x + b_1) + b_2, \qquad f : \mathbb{R}^2 \to \mathbb{R}",
            f"A₁, b₁, A₂, b₂: {shapes}, which is {counted(networks[0])} parameters",
        ),
        Step(
            "Each choice of the parameters is a function. Three with normal weights, at the corners of a square:",
            values="; ".join(numbers(network(CORNERS)) for network in networks),
        ),
        Step(
            "The last corner of the first network, written out, is the same.",
            r"f(1, 1) = A_2 \, \mathrm{ReLU}(A_1 (1, 1)^\top + b_1) + b_2",
            f"{float(by_hand):.3g}",
        ),
        Step("`gradlab explain nn-2-5-1 --show FILE.html` shows six of them over the plane: folded, with flat pieces."),
    ]


@worked("two-layer-net", "One hidden layer of m units over d inputs: its parameters, and what two units can do")
def two_layer_net() -> list[Step]:
    sizes = {(d, m): counted(mlp(Table(d), 1, hidden=[m])) for d, m in ((2, 2), (3, 4), (784, 10))}
    xor = mlp(Table(2), 1, hidden=[2])
    values = ([[1.0, 1.0], [1.0, 1.0]], [0.0, -1.0], [[1.0, -2.0]], [0.0])
    for parameter, value in zip(xor.parameters(), values, strict=True):
        parameter.data = torch.tensor(value)
    xor.requires_grad_(False)
    outputs = [f"f({x:g}, {y:g}) = {float(xor(torch.tensor([x, y]))):g}" for x, y in CORNERS.tolist()]
    return [
        Step(
            "The hidden units a are m numbers, and the output is one. Counted without the input, there are two layers.",
            r"a = \sigma(W x + b), \qquad y = v^\top a + c",
        ),
        Step(
            "Each hidden unit has d weights and a bias, and the output m weights and a bias.",
            r"m d + m + m + 1 = m (d + 2) + 1",
            "; ".join(f"d = {d}, m = {m}: {count:,}" for (d, m), count in sizes.items()),
        ),
        Step(
            "With two ReLU units it is the exclusive or, which no affine map is: that has f(0, 0) + f(1, 1) = "
            "f(0, 1) + f(1, 0), and here it is 0 and 2.",
            r"f(x) = \mathrm{ReLU}(x_1 + x_2) - 2 \, \mathrm{ReLU}(x_1 + x_2 - 1)",
            ", ".join(outputs),
        ),
    ]


def logistic(feature: Tensor, repaid: Tensor) -> tuple[float, float, float]:
    """Slope, offset and loss of logistic regression on one feature, by Newton's method until nothing changes."""
    model = Linear(1, 1).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = binary_cross_entropy(model(feature[:, None])[:, 0], repaid)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return model.weight.item(), model.bias.item(), loss().item()


@worked(
    "linear-limitations", "Salary and repaid loans: a linear model counts every dollar alike, if it sees no logarithm"
)
def linear_limitations() -> list[Step]:
    salary = torch.logspace(3, 6.3, 200, dtype=torch.float64)
    log = Preprocessing.fit(salary[:, None].numpy(), "none", ["salary"], [], logs=["salary"])(
        salary[:, None].numpy(), torch.float64
    )[:, 0]
    repaid = torch.sigmoid(1.5 * (log - math.log(40_000)))  # the share of those with this salary
    scale = float(salary.std())
    slope, offset, plain = logistic(salary / scale, repaid)
    log_slope, log_offset, after_log = logistic(log - log.mean(), repaid)
    steps = ((1e3, 51e3), (1e6, 1.05e6))

    def chance(s: float) -> float:
        return 1 / (1 + math.exp(-slope * s / scale - offset))

    def chance_by_log(s: float) -> float:
        return 1 / (1 + math.exp(-log_slope * (math.log(s) - float(log.mean())) - log_offset))

    logits = ", ".join(f"{low:,.0f} → {high:,.0f}: {slope * (high - low) / scale:+.3f}" for low, high in steps)
    logs = ", ".join(f"{low:,.0f} → {high:,.0f}: {log_slope * math.log(high / low):+.3f}" for low, high in steps)
    shares = [1 / (1 + math.exp(-1.5 * math.log(s / 40_000))) for s in (10_000, 40_000, 160_000)]
    wanted, linear, by_log = (
        ", ".join(f"{share:.2f}" for share in each)
        for each in (
            shares,
            [chance(s) for s in (10_000, 40_000, 160_000)],
            [chance_by_log(s) for s in (10_000, 40_000, 160_000)],
        )
    )
    degrees = torch.linspace(34, 40, 61, dtype=torch.float64)
    risk = (degrees - 37).abs()
    line = torch.linalg.lstsq(torch.stack([degrees, torch.ones_like(degrees)], 1), risk[:, None]).solution[:, 0]
    folded = torch.relu(degrees - 37) + torch.relu(37 - degrees)
    return [
        Step(
            "A linear model is monotone in each input, and by the same amount everywhere.",
            r"\frac{\partial}{\partial x_i} (w^\top x + b) = w_i",
        ),
        Step(
            "Who repays a loan depends on the salary: 50,000 more mean much to those with little, and nothing to those "
            "with a million. Logistic regression on the salary counts both alike: what 50,000 more add to the logit",
            r"\mathrm{logit} = w \cdot \mathrm{salary} + b",
            f"{logits}; loss {plain:.4f}",
        ),
        Step(
            "The same on the logarithm of the salary, as data.log=salary gives it to any model of a table:",
            r"\mathrm{logit} = w \cdot \log \mathrm{salary} + b",
            f"{logs}; loss {after_log:.4f}",
        ),
        Step(
            "The share that repays at 10,000, 40,000 and 160,000:",
            values=f"in truth {wanted}; by the salary {linear}; by its logarithm {by_log}",
        ),
        Step(
            "No such map helps where the answer is not monotone: how far from healthy a temperature is. The best line "
            "is level, and two hidden units are exact.",
            r"|t - 37| = \mathrm{ReLU}(t - 37) + \mathrm{ReLU}(37 - t)",
            f"slope of the best line {abs(float(line[0])):.3f}; largest error of the two units "
            f"{float((folded - risk).abs().max()):.1g}",
        ),
    ]
