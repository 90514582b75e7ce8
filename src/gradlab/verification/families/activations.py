"""What is known of the activations."""

from collections.abc import Callable
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn import activations as ours
from gradlab.nn.blocks import find_block
from gradlab.scratch import dense, functions
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess, gradients, same

KINKS = (0.0,)  # where ReLU and its kin have no slope

Settings = Callable[[Case], dict[str, Any]]

ENTRYWISE: dict[str, tuple[Any, Settings, Any]] = {
    # block: its twin, how its settings are drawn and named for the twin, its peer in torch.nn
    "identity": (functions.identity, lambda case: {}, nn.Identity),
    "step": (functions.step, lambda case: {}, None),
    "relu": (functions.relu, lambda case: {}, nn.ReLU),
    "leaky_relu": (
        functions.leaky_relu,
        lambda case: {"negative_slope": case.real("negative_slope", 0, 2)},
        nn.LeakyReLU,
    ),
    "elu": (functions.elu, lambda case: {"alpha": case.real("alpha", 0.1, 2)}, nn.ELU),
    "silu": (functions.silu, lambda case: {}, nn.SiLU),
    "sigmoid": (functions.sigmoid, lambda case: {}, nn.Sigmoid),
    "tanh": (functions.tanh, lambda case: {}, nn.Tanh),
    "softplus": (functions.softplus, lambda case: {}, nn.Softplus),
}


def inputs(case: Case) -> Tensor:
    """A tensor of up to three axes, away from the kinks, and large enough to reach the flat parts."""
    shape = [case.integer(f"size {axis}", 1, 5) for axis in range(case.integer("axes", 0, 3))]
    return case.tensor("x", *shape, away_from=KINKS, scale=3.0)


def _judged(name: str) -> None:
    function, settings, torchs = ENTRYWISE[name]

    @twin(f"activation.{name}", function)
    def twin_check(case: Case) -> float:
        x, chosen = inputs(case), settings(case)
        return agreement(case.build(**chosen)(x), lambda x: function(x, *chosen.values()), x)

    if torchs is not None:

        @peer(f"activation.{name}", f"torch.nn.{torchs.__name__}", tolerance=1e-8)
        def peer_check(case: Case) -> float:
            x, chosen = inputs(case), settings(case)
            return same(case.build(**chosen)(x), torchs(**chosen)(x), [x])

    example(f"activation.{name}", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n),)))


for _name in ENTRYWISE:
    _judged(_name)


@twin("activation.gelu", functions.gelu)
def exact_gelu(case: Case) -> float:
    x = inputs(case)
    return agreement(case.build()(x), functions.gelu, x)


@twin("activation.gelu", functions.gelu_tanh)
def gelu_by_tanh(case: Case) -> float:
    x = inputs(case)
    return agreement(case.build(approximate="tanh")(x), functions.gelu_tanh, x)


@peer("activation.gelu", "torch.nn.GELU")
def torchs_gelu(case: Case) -> float:
    x, form = inputs(case), case.choice("approximate", ("none", "tanh"))
    return same(case.build(approximate=form)(x), nn.GELU(form)(x), [x])


def _prelu_inputs(case: Case) -> tuple[Tensor, int]:
    channels = case.integer("num_parameters", 1, 4)
    places = [case.integer(f"size {axis}", 1, 3) for axis in range(case.integer("axes", 0, 2))]
    return case.tensor("x", case.integer("batch", 1, 4), channels, *places, away_from=KINKS), channels


@twin("activation.prelu", functions.prelu)
def prelu_twin(case: Case) -> float:
    x, channels = _prelu_inputs(case)
    block = case.build(num_parameters=channels)
    (slope,) = case.weights(block, "weight")
    places = [1] * (x.ndim - 2)
    return agreement(block(x), lambda x, slope: functions.prelu(x, slope.reshape(-1, *places)), x, slope)


@peer("activation.prelu", "torch.nn.PReLU")
def prelu_peer(case: Case) -> float:
    x, channels = _prelu_inputs(case)
    block, torchs = case.build(num_parameters=channels), nn.PReLU(channels).double()
    (slope,) = case.weights(block, "weight")
    torchs.load_state_dict({"weight": slope})
    return same(block(x), torchs(x), [x, slope], [x, torchs.weight])


@twin("activation.maxout", dense.maxout)
def maxout_twin(case: Case) -> float:
    inputs, outputs, pieces = (case.integer(s, 1, 4) for s in ("in_features", "out_features", "pieces"))
    block = case.build(in_features=inputs, out_features=outputs, pieces=pieces)
    x = case.tensor("x", case.integer("batch", 1, 5), inputs)
    weight, bias = case.weights(block, "weight", "bias")
    with torch.no_grad():
        bias.add_(
            1e-3 * torch.arange(bias.numel()).reshape(bias.shape)
        )  # two maps that are equal have a tie everywhere
    return agreement(block(x), dense.maxout, x, weight, bias)


@twin("activation.softmax", functions.softmax)
def softmax_twin(case: Case) -> float:
    x, temperature = _scores(case), case.real("temperature", 0.2, 5)
    axis = case.integer("dim", -x.ndim, -1)
    block = case.build(dim=axis, temperature=temperature)
    return agreement(block(x), lambda x: functions.softmax(x / temperature, axis=axis), x)


@peer("activation.softmax", "torch.nn.Softmax")
def softmax_peer(case: Case) -> float:
    x = _scores(case)
    return same(case.build(dim=-1, temperature=1.0)(x), nn.Softmax(-1)(x), [x])


@twin("activation.argmax", functions.argmax)
def argmax_twin(case: Case) -> float:
    x = _scores(case)  # whole numbers among them, so that ties are met too
    return agreement(case.build(dim=-1)(x), functions.argmax, x)


def _scores(case: Case) -> Tensor:
    shape = [case.integer(f"size {axis}", 1, 5) for axis in range(case.integer("axes", 1, 3))]
    return case.tensor("x", *shape, scale=3.0)


example("activation.gelu", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n),)))
example("activation.prelu", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n),)))
example("activation.softmax", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n),)))
example("activation.argmax", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n),)))


@example("activation.maxout", n=5, d=4, h=3, k=2)
def maxout_example(n: int, d: int, h: int, k: int) -> Any:
    return {"in_features": d, "out_features": h, "pieces": k}, (torch.randn(n, d),)


# Laws. Each comes with a version of the block that breaks it.


class Wrong(nn.Module):
    """A module made of a plain function, for versions with a fault."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def wrong(function: Callable[[Tensor], Tensor]) -> Callable[..., nn.Module]:
    return lambda **settings: Wrong(function)


@law("activation.relu", wrong=wrong(nn.functional.softplus))
def stretching_the_input_stretches_the_output(case: Case) -> float:
    """f(a x) = a f(x) for a > 0"""
    x, a = inputs(case), case.real("a", 0.1, 10)
    relu = case.build()
    return difference(relu(a * x), a * relu(x))


@law("activation.relu", wrong=wrong(lambda x: torch.maximum(x, torch.zeros_like(x))))
def the_slope_at_zero_is_zero(case: Case) -> float:
    """f'(0) = 0"""
    x = torch.zeros(case.integer("size", 1, 3), dtype=torch.float64, requires_grad=True)
    (slope,) = gradients(case.build()(x), [x])
    return float(slope.abs().max())


@law("activation.sigmoid", wrong=wrong(lambda x: torch.sigmoid(x.abs())))
def mirrored_inputs_give_complements(case: Case) -> float:
    """σ(-x) = 1 - σ(x)"""
    x, sigmoid = inputs(case), case.build()
    return difference(sigmoid(-x), 1 - sigmoid(x))


@law("activation.sigmoid", wrong=wrong(lambda x: torch.sigmoid(2 * x)))
def the_slope_is_the_value_times_its_complement(case: Case) -> float:
    """σ' = σ (1 - σ)"""
    x, y = _curve(case)
    return difference(_slope(y, x), y * (1 - y))


@law("activation.tanh", wrong=wrong(lambda x: torch.tanh(2 * x)))
def the_slope_is_one_minus_the_square(case: Case) -> float:
    """tanh' = 1 - tanh²"""
    x, y = _curve(case)
    return difference(_slope(y, x), 1 - y**2)


@law("activation.tanh", wrong=wrong(lambda x: 2 * torch.sigmoid(x) - 1))
def it_is_a_stretched_sigmoid(case: Case) -> float:
    """tanh x = 2 σ(2x) - 1"""
    x = inputs(case)
    return difference(case.build()(x), 2 * ours.Sigmoid()(2 * x) - 1)


@law("activation.gelu", "activation.silu", wrong=wrong(nn.functional.relu6))
def the_difference_of_mirrored_inputs_is_the_input(case: Case) -> float:
    """f(x) - f(-x) = x"""
    x, f = inputs(case), case.build()
    return difference(f(x) - f(-x), x)


@law("activation.softplus", wrong=wrong(nn.functional.relu))
def the_slope_is_the_sigmoid(case: Case) -> float:
    """f' = σ"""
    x, y = _curve(case)
    return difference(_slope(y, x), ours.Sigmoid()(x))


@law("activation.elu", wrong=wrong(lambda x: torch.where(x > 0, x, x.exp() - 0.5)))
def there_is_no_jump_at_zero(case: Case) -> float:
    """f(x) → f(0) as x → 0"""
    alpha = case.real("alpha", 0.1, 2)
    at_zero, below, above = case.build(alpha=alpha)(torch.tensor([0.0, -1e-12, 1e-12], dtype=torch.float64))
    return float(max((below - at_zero).abs(), (above - at_zero).abs()))


@law("activation.leaky_relu", wrong=wrong(nn.functional.relu))
def no_input_is_dead(case: Case) -> float:
    """f'(x) = a for x < 0"""
    a, x = (
        case.real("negative_slope", 0.01, 2),
        (-case.positive("distance below zero", case.integer("size", 1, 4)).detach()).requires_grad_(),
    )
    return difference(_slope(case.build(negative_slope=a)(x), x), torch.full_like(x, a))


BENT = [f"activation.{name}" for name in ("step", "relu", "elu", "gelu", "silu", "sigmoid", "tanh", "softplus")]


def _behaviour(case: Case) -> ours.Behaviour:
    """What is said of the block that the case is about."""
    known: ours.Behaviour = find_block(case.subject.name).behaviour  # type: ignore[attr-defined]
    return known


@law(*BENT, wrong=wrong(lambda x: x - 1.1))
def values_stay_in_the_range(case: Case) -> float:
    """f(x) within `behaviour.range`"""
    (low, high), y = _behaviour(case).range, case.build()(case.tensor("x", case.integer("size", 1, 8), scale=30.0))
    return max(excess(y, high), excess(low - y, 0.0))


@law(*BENT, wrong=wrong(torch.sin))
def slopes_are_small_outside_of_the_steep_part(case: Case) -> float:
    """|f'(x)| ≤ 0.01 outside of `behaviour.steep`"""
    low, high = _behaviour(case).steep
    away = case.positive("distance from the edge", case.integer("size", 1, 8), low=0.001, high=50.0).detach()
    x = torch.stack([low - away] * (low > -inf) + [high + away] * (high < inf)).requires_grad_()
    return excess(_slope(case.build()(x), x).abs(), 0.01)


@law(*(name for name in BENT if name not in ("activation.step", "activation.relu")), wrong=wrong(torch.relu))
def slopes_are_not_small_where_the_steep_part_ends(case: Case) -> float:
    """|f'(x)| > 0.0099 just inside of `behaviour.steep`"""
    x = torch.tensor([edge * 0.999 for edge in _behaviour(case).steep if abs(edge) < inf], dtype=torch.float64)
    return excess(0.0099 - _slope(case.build()(x.requires_grad_()), x).abs(), 0.0)


@law("activation.relu", "activation.step", wrong=wrong(nn.functional.leaky_relu))
def nothing_passes_the_dead_zone(case: Case) -> float:
    """f'(x) = 0 within `behaviour.dead`"""
    dead = _behaviour(case).dead
    assert dead is not None
    x = (
        min(dead[1], 0.0) - case.positive("distance below zero", case.integer("size", 1, 8), high=50.0).detach()
    ).requires_grad_()
    return float(_slope(case.build()(x), x).abs().max())


@law("activation.sigmoid", "activation.tanh", wrong=wrong(lambda x: 1 / (1 + torch.exp(-x))))
def large_inputs_give_no_nan(case: Case) -> float:
    """value and slope are finite at ±120 in float32"""
    x = torch.tensor([-120.0, -88.0, 88.0, 120.0], requires_grad=True)
    y = case.build()(x)
    return float((~torch.isfinite(torch.stack([y, _slope(y, x)]))).sum())


@law("activation.maxout", wrong=lambda **s: Maxouts(**s, bend=torch.sin))
def the_middle_is_not_above_the_mean_of_the_ends(case: Case) -> float:
    """f(½x + ½y) ≤ ½f(x) + ½f(y): convex"""
    block, d = _maxout(case, pieces=case.integer("pieces", 1, 4))
    x, y = case.tensor("x", 4, d), case.tensor("y", 4, d)
    return excess(block((x + y) / 2), (block(x) + block(y)) / 2)


@law("activation.maxout", wrong=lambda **s: Maxouts(**s, bend=torch.relu))
def with_the_maps_x_and_ax_it_is_leaky_relu(case: Case) -> float:
    """max(x, a x) is ReLU for a = 0, and leaky for 0 < a < 1"""
    slope, d = case.real("slope", 0, 0.9), case.integer("in_features", 1, 4)
    block = case.build(in_features=d, out_features=d, pieces=2)
    weight, bias = case.weights(block, "weight", "bias")
    with torch.no_grad():
        weight.copy_(torch.stack([torch.eye(d, dtype=torch.float64) * a for a in (1.0, slope)]))
        bias.zero_()
    x = case.tensor("x", 4, d)
    return difference(block(x), nn.functional.leaky_relu(x, slope))


class Maxouts(ours.Maxout):
    """Maxout with one more bend behind it."""

    def __init__(self, bend: Callable[[Tensor], Tensor], **settings: Any):
        super().__init__(**settings)
        self.bend = bend

    def forward(self, x: Tensor) -> Tensor:
        return self.bend(super().forward(x))


def _maxout(case: Case, pieces: int) -> tuple[nn.Module, int]:
    d = case.integer("in_features", 1, 4)
    block: nn.Module = case.build(in_features=d, out_features=case.integer("out_features", 1, 3), pieces=pieces)
    return block, d


@law("activation.softmax", "activation.argmax", wrong=wrong(torch.sigmoid))
def the_weights_are_positive_and_sum_to_one(case: Case) -> float:
    """0 ≤ f(x)ᵢ ≤ 1,  Σᵢ f(x)ᵢ = 1"""
    y = case.build()(_scores(case))
    return max(excess(-y, 0.0), excess(y, 1.0), difference(y.sum(-1), torch.ones_like(y.sum(-1))))


@law("activation.softmax", "activation.argmax", wrong=wrong(lambda x: x / x.sum(-1, keepdim=True)))
def moving_all_inputs_alike_changes_nothing(case: Case) -> float:
    """f(x + c) = f(x)"""
    x, c, f = _scores(case), case.real("c", -50, 50), case.build()
    return difference(f(x + c), f(x))


@law("activation.softmax", wrong=lambda temperature=1.0, **_: Wrong(lambda x: torch.softmax(x * temperature, -1)))
def cold_weights_are_all_on_the_largest(case: Case) -> float:
    """|softmax(x/T) - e_max| ≤ (n - 1) exp(-gap/T), so it tends to argmax as T → 0"""
    x, temperature = case.distinct("x", case.integer("n", 2, 6)).detach(), case.real("temperature", 0.01, 1)
    top = x.sort(descending=True).values
    bound = (len(x) - 1) * torch.exp(-(top[0] - top[1]) / temperature)
    return excess((case.build(temperature=temperature)(x) - ours.Argmax()(x)).abs(), bound)


@law("activation.softmax", wrong=wrong(lambda x: torch.softmax(-x, -1)))
def the_jacobian_is_diagonal_minus_outer_product(case: Case) -> float:
    """∂fᵢ/∂xⱼ = fᵢ (δᵢⱼ - fⱼ)"""
    x = case.tensor("x", case.integer("n", 1, 5))
    f = case.build()
    y = f(x)
    return difference(torch.func.jacrev(f)(x), torch.diag(y) - torch.outer(y, y))


def _curve(case: Case) -> tuple[Tensor, Tensor]:
    x = inputs(case)
    return x, case.build()(x)


def _slope(y: Tensor, x: Tensor) -> Tensor:
    """The derivative of an entrywise function: each entry of y depends on its own entry of x alone."""
    if not y.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(y.sum(), x, allow_unused=True)[0]
