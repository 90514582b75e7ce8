"""What is known of the initialisations."""

from collections.abc import Callable
from functools import partial
from math import log, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.initialisation import fans, gain_of, normal_, variance_through, xavier_
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, conform, example, law
from gradlab.verification.comparing import difference, excess

Fill = Callable[[Tensor], Any]

# Errors are counted in standard errors, of which 5 are met by chance once in a million cases.
BY_CHANCE: dict[str, Any] = {"tolerance": 5.0, "most_cases": 3}


def _filled(case: Case, shape: tuple[int, ...], fill: Fill) -> Tensor:
    tensor = torch.empty(shape, dtype=torch.float64)
    with case.seeded():
        fill(tensor)
    return tensor


def _shape(case: Case) -> tuple[int, ...]:
    window = case.sizes(3, (0, 2), "window", "axes of the window")
    return case.integer("units", 1, 6), case.integer("inputs", 1, 6), *window


def _large(case: Case) -> tuple[int, ...]:
    """Of many numbers, and many more inputs than units."""
    window = [case.integer("window", 1, 3)] * case.integer("axes of the window", 0, 2)
    return case.integer("units", 20, 30), case.integer("inputs", 500, 600), *window


def _standard_errors(values: Tensor, mean: float, std: float) -> float:
    """How far the mean and the variance of numbers are from what they should be; those of normal ones spread most."""
    root = sqrt(values.numel())
    of_mean = abs(float(values.mean()) - mean) / (std / root)
    of_variance = abs(float((values - mean).square().mean()) / std**2 - 1) / (sqrt(2) / root)
    return max(of_mean, of_variance)


# Peers: torch.nn.init with the same seed


def _range(case: Case) -> dict[str, float]:
    a = case.real("a", -2, 2)
    return {"a": a, "b": a + case.real("b - a", 0, 3)}


PEERS: list[tuple[str, Any, Callable[[Case], dict[str, Any]]]] = [
    # block, peer, and how the settings are drawn: those after the peer's are the block's alone
    ("init.zeros", nn.init.zeros_, lambda case: {}),
    ("init.uniform", nn.init.uniform_, _range),
    ("init.normal", nn.init.normal_, lambda case: {"mean": case.real("mean", -2, 2), "std": case.real("std", 0, 2)}),
    ("init.orthogonal", nn.init.orthogonal_, lambda case: {"gain": case.real("gain", 0.5, 2)}),
    ("init.xavier", nn.init.xavier_normal_, lambda case: {"gain": case.real("gain", 0.5, 2)}),
    ("init.xavier", nn.init.xavier_uniform_, lambda case: {"gain": case.real("gain", 0.5, 2)}),
    ("init.he", nn.init.kaiming_normal_, lambda case: {"a": case.real("negative slope", 0, 1)}),
    ("init.he", nn.init.kaiming_uniform_, lambda case: {"a": case.real("negative slope", 0, 1)}),
]


def _compared(block: str, peer: Any, draw: Callable[[Case], dict[str, Any]]) -> None:
    def call(case: Case) -> Call:
        settings, shape = draw(case), _shape(case)
        own: dict[str, Any] = {"gain": gain_of(nn.LeakyReLU(settings["a"]))} if block == "init.he" else dict(settings)
        if "uniform" in peer.__name__ and block != "init.uniform":
            own["distribution"] = "uniform"
        fill = case.build(**own)
        wanted = _filled(case, shape, partial(peer, **settings))
        return Call(lambda: _filled(case, shape, fill), (), options={"wanted": wanted})

    conform(block, call, peer={f"torch.nn.init.{peer.__name__}": lambda call: call.options["wanted"]})
    example(block, call=lambda n: ({}, (torch.ones(n // 4, 4),)), n=12)


for _row in PEERS:
    _compared(*_row)

# Laws


def _tiny(tensor: Tensor) -> Tensor:
    return normal_(tensor, std=0.01)


def _learned(case: Case, activation: nn.Module) -> nn.Sequential:
    """A network of one hidden layer that has started from the block's numbers, after some steps."""
    inputs, hidden = case.integer("inputs", 1, 4), case.integer("hidden", 2, 4)
    network = nn.Sequential(nn.Linear(inputs, hidden), activation, nn.Linear(hidden, 1)).double()
    for parameter in network.parameters():
        with case.seeded():
            case.build()(parameter)
    x, y = case.tensor("x", 5, inputs).detach(), case.positive("y", 5, 1).detach()
    for _ in range(3):
        gradients = torch.autograd.grad((network(x) - y).square().mean(), list(network.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(network.parameters(), gradients, strict=True):
                parameter.sub_(0.5 * gradient)
    return network


@law("init.zeros", fault=_tiny)
def with_relu_or_tanh_only_the_last_bias_learns(case: Case) -> float:
    """W = 0, b = 0 and f(0) = 0  ⟹  the gradient of all weights is 0"""
    network = _learned(case, case.choice("activation", (nn.ReLU(), nn.Tanh())))
    *others, last = (p.detach() for p in network.parameters())
    return max(*(float(p.abs().max()) for p in others), float(last == 0))


@law("init.zeros", fault=_tiny)
def hidden_units_stay_alike(case: Case) -> float:
    """wᵢ = wⱼ  ⟹  ∂L/∂wᵢ = ∂L/∂wⱼ, so that a hidden layer is as good as one unit"""
    weight: Any = _learned(case, case.choice("activation", (nn.Sigmoid(), nn.Softplus())))[0].weight
    return difference(weight, weight[:1].expand_as(weight))


@law("init.uniform", fault=lambda tensor, a, b: nn.init.uniform_(tensor, a, a + 2 * (b - a)))
def numbers_stay_in_the_range(case: Case) -> float:
    """a ≤ w ≤ b"""
    limits = _range(case)
    values = _filled(case, _shape(case), case.build(**limits))
    return max(excess(values, limits["b"]), excess(limits["a"] - values, 0.0))


@law("init.uniform", fault=lambda tensor, a, b: nn.init.normal_(tensor, (a + b) / 2, (b - a) / 2), **BY_CHANCE)
def the_variance_is_a_twelfth_of_the_squared_width(case: Case) -> float:
    """E w = (a + b) / 2,  Var w = (b - a)² / 12"""
    a, width = case.real("a", -2, 2), case.real("b - a", 0.1, 3)
    values = _filled(case, _large(case), case.build(a=a, b=a + width))
    return _standard_errors(values, a + width / 2, width / sqrt(12))


def _variance_for_deviation(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return nn.init.normal_(tensor, mean, sqrt(std))


def _drift(case: Case, width: int, f: Callable[[Tensor], Tensor], fill: Fill, kurtosis: float) -> float:
    """How far the variance after 50 layers is from that before, as a logarithm and in standard errors.

    A layer of n units multiplies the mean square by a number of mean 1 and variance (κ - 1) / n, where κ is the mean of
    f(z)⁴ over the squared mean of f(z)²: 3 for the identity, 6 for ReLU.
    """
    with case.seeded():
        left = float(variance_through(fill, f, depth=50, width=width)[-1])
    return abs(log(max(left, 1e-300))) / sqrt(50 * (kurtosis - 1) / width)


def _width(case: Case) -> int:
    return case.integer("width", 100, 200)


@law("init.normal", fault=_variance_for_deviation, **BY_CHANCE)
def each_layer_multiplies_the_variance_by_std_squared_times_fan_in(case: Case) -> float:
    """Var z_{l+1} = s² n Var z_l without activations: it dies if s √n < 1, and explodes if s √n > 1"""
    growth, width = case.real("s √n", 0.5, 2), _width(case)
    fill = case.build(std=growth / sqrt(width))
    return _drift(case, width, lambda z: z / growth, fill, 3)  # divided by what it should be, it stays as it is


def _half_the_variance(tensor: Tensor, gain: float = 1.0) -> Tensor:
    return normal_(tensor, std=gain / sqrt(sum(fans(tensor))))


@law("init.xavier", fault=_half_the_variance, **BY_CHANCE)
def the_variance_is_that_between_forward_and_back(case: Case) -> float:
    """Var w = 2 g² / (fan_in + fan_out)"""
    gain = case.real("gain", 0.5, 2)
    values = _filled(case, _large(case), case.build(gain=gain))
    return _standard_errors(values, 0.0, gain * sqrt(2 / sum(fans(values))))


@law("init.xavier", fault=_half_the_variance, **BY_CHANCE)
def fifty_layers_with_the_right_gain_keep_the_variance(case: Case) -> float:
    """n → n units with g = gain_of(f)  ⟹  Var z₅₀ ≈ Var z₀, for the identity and for tanh"""
    activation: nn.Module = case.choice("activation", (nn.Identity(), nn.Tanh()))
    return _drift(case, _width(case), activation, case.build(gain=gain_of(activation)), 3)


@law("init.he", fault=lambda tensor, gain=2**0.5: normal_(tensor, std=gain / sqrt(fans(tensor)[1])), **BY_CHANCE)
def the_variance_is_the_squared_gain_over_fan_in(case: Case) -> float:
    """Var w = g² / fan_in"""
    gain = case.real("gain", 0.5, 2)
    values = _filled(case, _large(case), case.build(gain=gain))
    return _standard_errors(values, 0.0, gain / sqrt(fans(values)[0]))


@law("init.he", fault=lambda tensor: xavier_(tensor), **BY_CHANCE)
def fifty_layers_with_relu_keep_the_variance(case: Case) -> float:
    """Var w = 2 / fan_in  ⟹  Var z₅₀ ≈ Var z₀; Xavier's leaves 2⁻⁵⁰ of it"""
    return _drift(case, _width(case), nn.ReLU(), case.build(), 6)


def _nearly_orthogonal(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Orthogonal in the mean alone."""
    return normal_(tensor, std=gain / sqrt(fans(tensor)[0]))


@law("init.orthogonal", fault=_nearly_orthogonal)
def rows_or_columns_are_orthonormal(case: Case) -> float:
    """W Wᵀ = g² I, or Wᵀ W = g² I where there are fewer inputs than units: 50 such layers keep every length"""
    gain = case.real("gain", 0.5, 2)
    w = _filled(case, _shape(case), case.build(gain=gain)).flatten(1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    return difference(product, gain**2 * torch.eye(len(product), dtype=w.dtype))
