"""Worked examples of units that cannot learn, since no gradient reaches them."""

import torch
from torch import Tensor, nn

from gradlab.explanation.walk import Step, worked
from gradlab.nn import LeakyReLU, Linear, ReLU, Sigmoid
from gradlab.nn.activations import Step as Jump
from gradlab.nn.losses import squared


def learned(unit: nn.Module, x: Tensor, y: Tensor, lr: float, steps: int) -> list[float]:
    """The losses of gradient descent."""
    losses = []
    for _ in range(steps):
        loss = squared(unit(x)[:, 0], y)
        unit.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        with torch.no_grad():
            for parameter in unit.parameters():
                parameter.sub_(lr * slope(parameter))
    return losses


def slope(parameter: nn.Parameter) -> Tensor:
    """Its gradient; of a parameter that none reached, zeros."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def one_unit(activation: nn.Module, bias: float) -> nn.Sequential:
    """y = σ(x + bias)"""
    linear = Linear(1, 1)
    linear.weight.data.fill_(1.0)
    linear.bias.data.fill_(bias)
    return nn.Sequential(linear, activation)


@worked("dead-relu", "A ReLU unit that is off for every example never learns again")
def dead_relu() -> list[Step]:
    x = torch.linspace(0, 1, 5)[:, None]
    y = 2 * x[:, 0] + 1
    dead, leaky, alive, thrown = (
        one_unit(ReLU(), -3),
        one_unit(LeakyReLU(), -3),
        one_unit(ReLU(), 0),
        one_unit(ReLU(), 0),
    )
    before = dead[0](x)[:, 0]
    losses = learned(dead, x, y, 0.1, 200)
    gradients = [slope(parameter).abs().max().item() for parameter in dead.parameters()]
    leaky_losses = learned(leaky, x, y, 0.5, 1000)
    small, large = learned(alive, 10 * x, y, 0.03, 500), learned(thrown, 10 * x, y, 1.0, 20)
    weight, bias = thrown.parameters()
    return [
        Step(
            "A unit whose bias is far below zero: all its sums are negative, and so its outputs and slopes are 0.",
            r"a = \mathrm{ReLU}(w x + b), \qquad \frac{\partial a}{\partial w} = [w x + b > 0] \, x",
            f"w x + b = {', '.join(f'{z:g}' for z in before)}",
        ),
        Step(
            "200 steps of gradient descent change nothing: every gradient is exactly 0.",
            values=f"loss {losses[0]:.3f} → {losses[-1]:.3f}, largest gradient {max(gradients):g}",
        ),
        Step(
            "The same unit with a leaky ReLU, whose slope below zero is 0.01, comes back.",
            values=f"loss {leaky_losses[0]:.3f} → {leaky_losses[-1]:.2g}",
        ),
        Step(
            "A unit that starts with a bias of 0, on inputs up to 10, learns with the learning rate 0.03.",
            values=f"loss {small[0]:.3f} → {small[-1]:.2g}",
        ),
        Step(
            "With the learning rate 1 it dies on the way: the first step throws the weights to where all sums are "
            "negative, and there they stay.",
            values=f"w = {weight.item():.4g}, b = {bias.item():.4g}; loss after each of the first "
            f"steps {', '.join(f'{loss:.3g}' for loss in large[1:4])}",
        ),
    ]


@worked(
    "piecewise-constant-activation",
    "Steps without slopes: no gradient passes them, and nothing before them learns",
)
def piecewise_constant_activation() -> list[Step]:
    generator = torch.Generator().manual_seed(0)
    x = torch.linspace(-2, 2, 64)[:, None]
    y = x[:, 0].sin()
    results = []
    for activation in (Jump(), Sigmoid()):
        network = nn.Sequential(Linear(1, 8), activation, Linear(8, 1))
        generator.manual_seed(0)
        for parameter in network.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)
        weight = next(network.parameters())
        first = weight.detach().clone()
        losses = learned(network, x, y, 0.3, 500)
        moved = (weight.detach() - first).abs().max().item()
        results.append((losses, moved, slope(weight).abs().max().item()))
    (steps, stayed, nothing), (smooth, moved, some) = results
    return [
        Step(
            "A piecewise constant activation has the slope 0 but at its jumps, and so has every layer before it.",
            r"\delta^{[l]} = \sigma'(z) \odot W^\top \delta^{[l+1]} = 0",
            f"largest gradient of the first layer: {nothing:g}; with the sigmoid {some:.1g}",
        ),
        Step(
            "sin x by eight hidden units. With steps only the last layer learns, from features as they were drawn.",
            values=f"first weights moved by {stayed:g}, loss {steps[0]:.3f} → {steps[-1]:.4f}",
        ),
        Step(
            "The same network with the sigmoid, a smooth step.",
            values=f"first weights moved by {moved:.3g}, loss {smooth[0]:.3f} → {smooth[-1]:.4f}",
        ),
    ]
