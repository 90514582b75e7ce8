"""Worked examples of what networks start from."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.explanation.walk import Step, worked
from gradlab.nn import Linear, ReLU, Sigmoid, Tanh
from gradlab.nn.initialisation import fill_weights, normal_, uniform_, xavier_, zeros_
from gradlab.registry import Part

_DEPTH = 20


def _numbers(values: Tensor) -> str:
    return ", ".join(f"{x:.3g}" for x in values.flatten().tolist())


def _zeros(*layers: nn.Module) -> nn.Sequential:
    network = nn.Sequential(*layers).double()
    for parameter in network.parameters():
        zeros_(parameter)
    return network


@worked("zero-init", "All weights 0: which gradients are left")
def zero_init() -> list[Step]:
    with torch.random.fork_rng(devices=()):
        network, smooth = (_zeros(Linear(2, 3), bend, Linear(3, 1)) for bend in (ReLU(), Sigmoid()))
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]], dtype=torch.float64)
    target = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    loss = F.mse_loss(network(x), target)
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    names = [name for name, _ in network.named_parameters()]
    left = ", ".join(f"{n}: {g.abs().max():g}" for n, g in zip(names, gradients, strict=True))
    for _ in range(3):
        moved = torch.autograd.grad(F.mse_loss(smooth(x), target), list(smooth.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(smooth.parameters(), moved, strict=True):
                parameter.sub_(0.5 * gradient)
    rows = next(smooth.parameters()).detach()
    return [
        Step(
            "All hidden units are 0, and so is the output.",
            r"h = \mathrm{relu}(0) = 0, \quad y = 0",
            f"loss = {loss:g}",
        ),
        Step(
            "A weight's gradient has a factor from each side of it: a hidden output, or a weight behind it. All are 0.",
            r"\frac{\partial L}{\partial W_2} = \delta_2 h^\top = 0, \qquad "
            r"\delta_1 = (W_2^\top \delta_2) \odot \mathrm{relu}'(z) = 0",
            f"largest gradient of each parameter, {left}",
        ),
        Step(
            "Only the last bias learns: the network can become the mean of its targets, and nothing else.",
            r"\frac{\partial L}{\partial b_2} = \frac{2}{n} \sum_i (y_i - t_i)",
            f"{gradients[-1].item():g}",
        ),
        Step(
            "With sigmoids, whose output at 0 is ½, weights do move, but all units by the same: after three steps the "
            "rows of W₁ are still equal.",
            r"w_i = w_j \Rightarrow \frac{\partial L}{\partial w_i} = \frac{\partial L}{\partial w_j}",
            f"rows of W₁: {'; '.join(_numbers(row) for row in rows)}",
        ),
    ]


@worked("small-gaussian-init", "Normal weights of deviation 0.1: signals die only in narrow layers")
def small_gaussian_init() -> list[Step]:
    left = {width: _after(0.1, width) for width in (10, 100, 1000)}
    values = "; ".join(f"width {width}: 0.1 √{width} = {0.1 * width**0.5:.2f}, {x:.2g}" for width, x in left.items())
    return [
        Step(
            "A layer multiplies the size of a signal by the deviation of its weights times the root of its inputs.",
            r"\mathrm{Var}\, z_{l+1} = s^2 \, n \, \mathrm{Var}\, f(z_l)",
            "with s = 0.1, the factor s √n is 1 for n = 100",
        ),
        Step(
            f"After {_DEPTH} layers of tanh, the root mean square of the last activations.",
            r"h_{l+1} = \tanh(W_l h_l), \qquad W_{ij} \sim N(0, 0.1^2)",
            values,
        ),
        Step(
            "So a small deviation shrinks activations to 0 only where it is small for the width, which Xavier's heeds.",
            r"s = \sqrt{2 / (n_\text{in} + n_\text{out})}",
            f"width 10, Xavier: {_after(None, 10):.2g}",
        ),
    ]


@torch.no_grad()
def _after(std: float | None, width: int) -> float:
    """The size of the last activations of a deep network with tanh; without a deviation, with Xavier's weights."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        h = torch.randn(16, width, dtype=torch.float64)
        for _ in range(_DEPTH):
            weight = torch.empty(width, width, dtype=torch.float64)
            h = torch.tanh(h @ (xavier_(weight) if std is None else normal_(weight, std=std)).T)
    return float(h.square().mean().sqrt())


@worked("large-init", "Large weights: tanh saturates, and most units pass no gradient")
def large_init() -> list[Step]:
    rows = []
    for std in (0.1, 1.0, 10.0):
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            layers = [layer for _ in range(5) for layer in (Linear(100, 100, bias=False), Tanh())]
            network = fill_weights(nn.Sequential(*layers), Part("normal", {"std": std})).double()
            x = torch.randn(64, 100, dtype=torch.float64, requires_grad=True)
        h = network(x)
        slopes = 1 - h.detach() ** 2
        (gradient,) = torch.autograd.grad(h.square().sum() / 2, x)
        passed = float(gradient.norm() / h.detach().norm())
        rows.append((std, float((slopes < 0.01).double().mean()), float(slopes.median()), passed))
    return [
        Step(
            "The slope of tanh is nearly 0 wherever its value is nearly ±1.",
            r"\tanh'(z) = 1 - \tanh(z)^2",
            f"at z = 5: {1 - torch.tanh(torch.tensor(5.0, dtype=torch.float64)) ** 2:.2g}",
        ),
        *(
            Step(
                f"Five layers of 100 units, weights of deviation {std:g}.",
                r"W_{ij} \sim N(0, s^2), \qquad z = W h",
                f"slope below 0.01: {saturated:.0%} of the last units; median slope {slope:.2g}",
            )
            for std, saturated, slope, _ in rows
        ),
        Step(
            "What passes the few units that are left is multiplied by large weights: at the input there are gradients, "
            "which explode. Large weights make most gradients 0, and the rest useless.",
            r"\frac{\partial L}{\partial x} = W_1^\top D_1 \cdots W_5^\top D_5 \, \frac{\partial L}{\partial h}",
            "; ".join(f"s = {std:g}: {passed:.2g} times that at the output" for std, _, _, passed in rows),
        ),
    ]


@worked("uniform-init", "Weights spread evenly from −1 to 1, as in the network in NumPy")
def uniform_init() -> list[Step]:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        weight = uniform_(torch.empty(10, 784, dtype=torch.float64))
        x = torch.rand(1000, 784, dtype=torch.float64) * (torch.rand(1000, 784) < 0.2)  # a fifth of the pixels is ink
    z = x @ weight.T
    wanted = (784 * 0.2 / 3 / 3) ** 0.5
    return [
        Step(
            "Each weight and bias is drawn evenly from −1 to 1, whatever the layer.",
            r"w \sim U(-1, 1), \qquad \mathrm{Var}\, w = \tfrac13",
            f"least {weight.min():.3f}, largest {weight.max():.3f}, variance {weight.var():.3f}",
        ),
        Step(
            "The first layer adds up 784 pixels, of which a fifth is ink of even grey.",
            r"\mathrm{Var}\, z = n \, \mathbb{E} x^2 \, \mathrm{Var}\, w = 784 \cdot \tfrac{1}{15} \cdot \tfrac13",
            f"deviation {z.std():.2f}, by the formula {wanted:.2f}",
        ),
        Step(
            "So it starts with units whose inputs are several times too large; Xavier's deviation would be 0.05.",
            r"\sqrt{\tfrac13} = 0.577 \quad \text{and} \quad \sqrt{\tfrac{2}{784 + 10}} = 0.050",
            f"{(1 / 3) ** 0.5:.3f} and {(2 / 794) ** 0.5:.3f}",
        ),
    ]
