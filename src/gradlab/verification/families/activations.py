"""What is known of the activations."""

from collections.abc import Callable
from functools import partial
from math import inf, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn import activations as ours
from gradlab.nn.blocks import find_block
from gradlab.scratch import dense, functions
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law
from gradlab.verification.comparing import cotangent, difference, excess, gradients
from gradlab.verification.subject import Incomparable

KINKS = (0.0,)  # where ReLU and its kin have no slope


def wrong(function: Callable[[Tensor], Tensor]) -> Fault:
    """The activation, with another function in its place."""
    return Fault(forward=lambda self, x: function(x))


def inputs(case: Case) -> Tensor:
    """A tensor of up to three axes, away from the kinks, and large enough to reach the flat parts."""
    return case.tensor("x", *case.sizes(5, (0, 3)), away_from=KINKS, scale=3.0)


def _scores(case: Case) -> Tensor:
    return case.tensor("x", *case.sizes(5), scale=3.0)


# Twins, peers and examples


def _entrywise(setting: str = "", of_twin: str = "", low: float = 0.0) -> Draw:
    """An activation, with one setting from `low` to 2 if it has one, and the twin's name for it."""

    def draw(case: Case) -> Call:
        x = inputs(case)
        if not setting:
            return Call(case.build(), (x,))
        value = case.real(setting, low, 2)
        return Call(case.build(**{setting: value}), (x,), options={of_twin: value}, settings={setting: value})

    return draw


ENTRYWISE: dict[str, tuple[Any, Any, Draw]] = {
    "identity": (functions.identity, nn.Identity, _entrywise()),
    "step": (functions.step, None, _entrywise()),
    "relu": (functions.relu, nn.ReLU, _entrywise()),
    "leaky_relu": (functions.leaky_relu, nn.LeakyReLU, _entrywise("negative_slope", "slope")),
    "elu": (functions.elu, nn.ELU, _entrywise("alpha", "alpha", 0.1)),
    "silu": (functions.silu, nn.SiLU, _entrywise()),
    "sigmoid": (functions.sigmoid, nn.Sigmoid, _entrywise()),
    "tanh": (functions.tanh, nn.Tanh, _entrywise()),
    "softplus": (functions.softplus, nn.Softplus, _entrywise()),
    "gelu": (functions.gelu, None, _entrywise()),
}
FAULTS = {"elu": wrong(lambda x: torch.where(x > 0, x, x.exp() - 0.5))}
for _name, (_twin, _peer, _draw) in ENTRYWISE.items():
    conform(f"activation.{_name}", _draw, twin=_twin, peer=_peer, fault=FAULTS.get(_name, ()), tolerance=1e-8)


def _gelu(*forms: str) -> Draw:
    def draw(case: Case) -> Call:
        x, settings = inputs(case), {"approximate": case.choice("approximate", forms)}
        return Call(case.build(**settings), (x,), settings=settings)

    return draw


def _prelu(case: Case) -> Call:
    channels, places = case.integer("num_parameters", 1, 4), case.sizes(3, (0, 2))
    x = case.tensor("x", case.integer("batch", 1, 4), channels, *places, away_from=KINKS)
    block = case.build(num_parameters=channels)
    return Call(block, (x,), case.weights(block, "weight"), settings={"num_parameters": channels})


def _maxout(case: Case) -> Call:
    settings = {name: case.integer(name, 1, 4) for name in ("in_features", "out_features", "pieces")}
    block = case.build(**settings)
    x, bias = case.tensor("x", case.integer("batch", 1, 5), settings["in_features"]), case.weight(block, "bias")
    apart = 1e-3 if case.place.is_exact else 4.0  # no two maps are equal, also when they are rounded: no ties
    case.set(block, bias=bias + apart * torch.arange(bias.numel()).reshape(bias.shape))
    return Call(block, (x,), case.weights(block, "weight", "bias"))


def _softmax(case: Case) -> Call:
    least = 0.2 if case.place.is_exact else 1.0  # colder, and little but rounding is left of 1 - p
    x, settings = _scores(case), {"temperature": case.real("temperature", least, 5)}
    settings["dim"] = case.integer("dim", -x.ndim, -1)
    return Call(case.build(**settings), (x,), options=settings)


conform("activation.gelu", _gelu("tanh"), twin=functions.gelu_tanh)
conform("activation.gelu", _gelu("none", "tanh"), peer=nn.GELU)
conform(
    "activation.prelu",
    _prelu,
    twin=functions.prelu,
    twin_call=lambda x, slope: functions.prelu(x, slope.reshape(-1, *[1] * (len(x.shape) - 2))),
    peer=nn.PReLU,
)
conform("activation.maxout", _maxout, twin=dense.maxout)
conform(
    "activation.softmax",
    _softmax,
    twin=functions.softmax,
    twin_call=lambda x, dim, temperature: functions.softmax(x / temperature, axis=dim),
    peer={"torch.softmax": lambda call: (call.inputs[0] / call.options["temperature"]).softmax(call.options["dim"])},
)
# Whole numbers are among the scores, so that ties are met too.
conform("activation.argmax", lambda case: Call(case.build(dim=-1), (_scores(case),)), twin=functions.argmax)
example(
    *(f"activation.{name}" for name in (*ENTRYWISE, "prelu", "softmax", "argmax")),
    call=lambda n: ({}, (torch.linspace(-3, 3, n),)),
    n=12,
)
example(
    "activation.maxout",
    call=lambda n, d, h, k: ({"in_features": d, "out_features": h, "pieces": k}, (torch.randn(n, d),)),
    n=5,
    d=4,
    h=3,
    k=2,
)

# Laws


@law("activation.relu", fault=wrong(nn.functional.softplus), id="relu-homogeneity")
def stretching_the_input_stretches_the_output(case: Case) -> float:
    """f(a x) = a f(x) for a > 0"""
    x, a, relu = inputs(case), case.real("a", 0.1, 10), case.build()
    return difference(relu(a * x), a * relu(x))


@law("activation.relu", fault=wrong(lambda x: torch.maximum(x, torch.zeros_like(x))))
def the_slope_at_zero_is_zero(case: Case) -> float:
    """f'(0) = 0; of a user's, as of max(x, 0) in PyTorch, any slope from 0 to 1 is one of the kink"""
    x = torch.zeros(case.integer("size", 1, 3), dtype=torch.float64, requires_grad=True)
    f = case.build()
    slopes = gradients(f(x), [x])[0] / cotangent(x)
    return max(excess(slopes, 1.0), excess(-slopes, 0.0)) if case.subject.foreign else float(slopes.abs().max())


@law("activation.sigmoid", id="sigmoid", fault=wrong(lambda x: torch.sigmoid(x.abs())))
def mirrored_inputs_give_complements(case: Case) -> float:
    """σ(-x) = 1 - σ(x)"""
    x, sigmoid = inputs(case), case.build()
    return difference(sigmoid(-x), 1 - sigmoid(x))


@law("activation.sigmoid", id="sigmoid", fault=wrong(lambda x: torch.sigmoid(2 * x)))
def the_slope_is_the_value_times_its_complement(case: Case) -> float:
    """σ' = σ (1 - σ)"""
    x, y = _curve(case)
    return difference(_slope(y, x), y * (1 - y))


@law("activation.tanh", id="tanh", fault=wrong(lambda x: 2 * torch.sigmoid(x) - 1))
def it_is_a_stretched_sigmoid(case: Case) -> float:
    """tanh x = 2 σ(2x) - 1"""
    x = inputs(case)
    return difference(case.build()(x), 2 * ours.Sigmoid()(2 * x) - 1)


@law("activation.tanh", id="tanh", fault=wrong(lambda x: torch.tanh(2 * x)))
def the_slope_is_one_minus_the_square(case: Case) -> float:
    """tanh' = 1 - tanh²"""
    x, y = _curve(case)
    return difference(_slope(y, x), 1 - y**2)


@law(
    "activation.gelu",
    id="gelu",
    fault=[wrong(nn.functional.silu), wrong(partial(nn.functional.gelu, approximate="tanh"))],
)
def it_is_the_input_times_the_chance_that_a_normal_number_is_below_it(case: Case) -> float:
    """f(x) = x Φ(x) = x ½(1 + erf(x/√2))"""
    x = inputs(case)
    return difference(case.build()(x), x * (1 + torch.erf(x / sqrt(2))) / 2)


@law("activation.gelu", id="gelu", fault=wrong(nn.functional.relu6))
@law("activation.silu", fault=wrong(nn.functional.relu6))
def the_difference_of_mirrored_inputs_is_the_input(case: Case) -> float:
    """f(x) - f(-x) = x"""
    x, f = inputs(case), case.build()
    return difference(f(x) - f(-x), x)


@law("activation.softplus", fault=wrong(nn.functional.relu))
def the_slope_is_the_sigmoid(case: Case) -> float:
    """f' = σ"""
    x, y = _curve(case)
    return difference(_slope(y, x), ours.Sigmoid()(x))


@law("activation.leaky_relu", fault=wrong(nn.functional.relu))
def no_input_is_dead(case: Case) -> float:
    """f'(x) = a for x < 0"""
    a = case.real("negative_slope", 0.01, 2)
    x = (-case.positive("distance below zero", case.integer("size", 1, 4)).detach()).requires_grad_()
    return difference(_slope(case.build(negative_slope=a)(x), x), torch.full_like(x, a))


BENT = [f"activation.{name}" for name in ("step", "relu", "elu", "gelu", "silu", "sigmoid", "tanh", "softplus")]


def _behaviour(case: Case) -> ours.Behaviour:
    """What is said of the block that the case is about."""
    known: ours.Behaviour = find_block(case.subject.name).behaviour  # type: ignore[attr-defined]
    return known


@law(*BENT, fault=wrong(lambda x: x - 1.1))
def values_stay_in_the_range(case: Case) -> float:
    """f(x) within `behaviour.range`"""
    (low, high), y = _behaviour(case).range, case.build()(case.tensor("x", case.integer("size", 1, 8), scale=30.0))
    return max(excess(y, high), excess(low - y, 0.0))


@law(*BENT, fault=wrong(torch.sin))
def slopes_are_small_outside_of_the_steep_part(case: Case) -> float:
    """|f'(x)| ≤ 0.01 outside of `behaviour.steep`"""
    low, high = _behaviour(case).steep
    away = case.positive("distance from the edge", case.integer("size", 1, 8), low=0.001, high=50.0).detach()
    x = torch.stack([low - away] * (low > -inf) + [high + away] * (high < inf)).requires_grad_()
    return excess(_slope(case.build()(x), x).abs(), 0.01)


@law(*(name for name in BENT if name not in ("activation.step", "activation.relu")), fault=wrong(torch.relu))
def slopes_are_not_small_where_the_steep_part_ends(case: Case) -> float:
    """|f'(x)| > 0.0099 just inside of `behaviour.steep`"""
    x = torch.tensor([edge * 0.999 for edge in _behaviour(case).steep if abs(edge) < inf], dtype=torch.float64)
    return excess(0.0099 - _slope(case.build()(x.requires_grad_()), x).abs(), 0.0)


@law("activation.relu", "activation.step", fault=wrong(nn.functional.leaky_relu))
def nothing_passes_the_dead_zone(case: Case) -> float:
    """f'(x) = 0 within `behaviour.dead`"""
    dead, below = _behaviour(case).dead, case.positive("distance below zero", case.integer("size", 1, 8), high=50.0)
    assert dead is not None
    x = (min(dead[1], 0.0) - below.detach()).requires_grad_()
    return float(_slope(case.build()(x), x).abs().max())


@law("activation.sigmoid", id="sigmoid", fault=wrong(lambda x: 1 / (1 + torch.exp(-x))))
@law("activation.tanh", fault=wrong(lambda x: 1 / (1 + torch.exp(-x))))
def large_inputs_give_no_nan(case: Case) -> float:
    """value and slope are finite at ±120 in float32"""
    x = torch.tensor([-120.0, -88.0, 88.0, 120.0], requires_grad=True)
    y = case.build()(x)
    return float((~torch.isfinite(torch.stack([y, _slope(y, x)]))).sum())


@law("activation.maxout", fault=Fault(forward=lambda self, x: self.right(x).sin()))
def the_middle_is_not_above_the_mean_of_the_ends(case: Case) -> float:
    """f(½x + ½y) ≤ ½f(x) + ½f(y): convex"""
    settings = {name: case.integer(name, 1, 4) for name in ("in_features", "out_features", "pieces")}
    f, (x, y) = case.build(**settings), (case.tensor(name, 4, settings["in_features"]) for name in "xy")
    return excess(f((x + y) / 2), (f(x) + f(y)) / 2)


@law("activation.maxout", fault=Fault(forward=lambda self, x: self.right(x).relu()))
def with_the_maps_x_and_ax_it_is_leaky_relu(case: Case) -> float:
    """max(x, a x) is ReLU for a = 0, and leaky for 0 < a < 1"""
    slope, d = case.real("slope", 0, 0.9), case.integer("in_features", 1, 4)
    settings = {"out_features": case.integer("out_features", d, d), "pieces": case.integer("pieces", 2, 2)}
    if [*settings.values()] != [d, 2]:
        raise Incomparable("this is about two maps, to as many outputs as inputs")
    block, x = case.build(in_features=d, **settings), case.tensor("x", 4, d)
    case.set(block, weight=torch.stack([torch.eye(d), slope * torch.eye(d, dtype=x.dtype)]), bias=0.0)
    return difference(block(x), nn.functional.leaky_relu(x, slope))


@law("activation.softmax", id="softmax-shift", fault=wrong(lambda x: x / x.sum(-1, keepdim=True)))
@law("activation.argmax", fault=wrong(lambda x: x / x.sum(-1, keepdim=True)))
def moving_all_inputs_alike_changes_nothing(case: Case) -> float:
    """f(x + c) = f(x)"""
    x, c, f = _scores(case), case.real("c", -50, 50), case.build()
    return difference(f(x + c), f(x))


@law(
    "activation.softmax",
    id="softmax-temperature-limit",
    fault=Fault(forward=lambda self, x: torch.softmax(x * self.temperature, -1)),
)
def cold_weights_are_all_on_the_largest(case: Case) -> float:
    """|softmax(x/T) - e_max| ≤ (n - 1) exp(-gap/T), so it tends to argmax as T → 0"""
    x, temperature = case.distinct("x", case.integer("n", 2, 6)).detach(), case.real("temperature", 0.01, 1)
    first, second, *_ = x.sort(descending=True).values
    bound = (len(x) - 1) * torch.exp((second - first) / temperature)
    return excess((case.build(temperature=temperature)(x) - ours.Argmax()(x)).abs(), bound)


@law("activation.softmax", id="softmax-range-sum", fault=[wrong(torch.sigmoid), wrong(ours.Argmax())])
def the_weights_are_positive_and_sum_to_one(case: Case) -> float:
    """0 < f(x)ᵢ ≤ 1,  Σᵢ f(x)ᵢ = 1"""
    y = case.build()(_scores(case))
    return max(float((y <= 0).sum()), excess(y, 1.0), difference(y.sum(-1), torch.ones_like(y.sum(-1))))


@law("activation.argmax", fault=wrong(torch.sigmoid))
def the_weights_are_not_negative_and_sum_to_one(case: Case) -> float:
    """0 ≤ f(x)ᵢ ≤ 1,  Σᵢ f(x)ᵢ = 1"""
    y = case.build()(_scores(case))
    return max(excess(-y, 0.0), excess(y, 1.0), difference(y.sum(-1), torch.ones_like(y.sum(-1))))


@law("activation.softmax", id="softmax-jacobian", fault=wrong(lambda x: torch.softmax(-x, -1)))
def the_jacobian_is_diagonal_minus_outer_product(case: Case) -> float:
    """∂fᵢ/∂xⱼ = fᵢ (δᵢⱼ - fⱼ)"""
    x, f = case.tensor("x", case.integer("n", 1, 5)), case.build()
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
