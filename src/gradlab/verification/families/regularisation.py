"""What keeps a network from learning its examples by heart: dropout in its forms, small weights, smooth labels."""

from collections.abc import Callable
from math import log, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.regularisation import Dropout, StochasticDepth, Thinning, l2_penalty
from gradlab.scratch import regularisation
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law
from gradlab.verification.comparing import array, difference, excess
from gradlab.verification.subject import Incomparable

FORMS = [f"regularisation.{name}" for name in ("dropout", "thinning", "stochastic_depth")]


def _output(case: Case, block: nn.Module, x: Tensor) -> Tensor:
    """What the block makes of x, with the same mask whenever the shape is the same."""
    with case.seeded():
        y: Tensor = block(x)
    return y


def _dropped(case: Case) -> Call:
    """A call in training, with the mask that is read off its result: no seed is compared."""
    x, p = case.tensor("x", *case.sizes(), away_from=(0.0,)), case.real("p", 0, 0.9)
    if p == 1:
        raise Incomparable("with p = 1 nothing is kept")
    block = case.build(p=p).train()
    y = block(x)
    return Call(lambda x: y, (x,), options={"mask": array(y != 0), "p_drop": p})


def _in_both_modes(case: Case) -> Call:
    x, p = case.tensor("x", *case.sizes(), away_from=(0.0,)), case.real("p", 0, 1)
    block, factor = case.build(p=p), 1 - p if case.subject.name == "regularisation.thinning" else 1.0
    if not isinstance(block, Dropout | Thinning):  # which draw as torch does, and nobody else has to
        raise Incomparable("masks are random: those of two libraries are compared by their statistics alone")
    wanted = [factor * y for y in _modes(case, nn.Dropout(p), x)]
    return Call(lambda x: _modes(case, block, x), (x,), options={"wanted": wanted})


def _modes(case: Case, block: nn.Module, x: Tensor) -> list[Tensor]:
    """What it gives in training and at test time."""
    return [_output(case, block.train(), x), block.eval()(x)]


def _wanted(call: Call) -> Any:
    return call.options["wanted"]


conform(FORMS[0], _dropped, twin=regularisation.dropout)
conform(FORMS[0], _in_both_modes, peer={"torch.nn.Dropout": _wanted})
conform(
    FORMS[1],
    _dropped,
    twin=regularisation.thinned,
    twin_call=lambda x, mask, p_drop: regularisation.thinned(x, mask),
    fault=Dropout,
)
conform(FORMS[1], _in_both_modes, peer={"torch.nn.Dropout, times 1 - p": _wanted}, fault=Dropout)
conform(FORMS[2], _dropped, twin=regularisation.dropout)
example(*FORMS, call=lambda n: ({"p": 0.2}, (torch.linspace(-3, 3, n).reshape(4, -1),)), n=12)

# Laws of dropout


def _probability(case: Case) -> float:
    """The probability of dropping, where both of what may happen will be seen."""
    p = case.real("p", 0.3, 0.7)
    if min(p, 1 - p) < 0.01:
        raise Incomparable("its p is too close to 0 or 1 to see what seldom happens")
    return p


def never_scaled(share: Callable[[float], float]) -> Fault:
    """Drops in training, and makes up for it nowhere."""
    return Fault(forward=lambda self, x: self.right(x) * share(self.p) if self.training else x)


def _different(rows: Tensor) -> Tensor:
    """Each row once."""
    return torch.stack(list({tuple(row.tolist()): row for row in rows}.values()))


@law(
    *FORMS[:2],
    fault={FORMS[0]: never_scaled(lambda p: 1 - p), FORMS[1]: never_scaled(lambda p: 1.0)},
    id="dropout-expectation",
)
def the_mean_over_all_masks_is_what_is_seen_at_test_time(case: Case) -> float:
    """Σ_r P(r) (W f_r(x) + b) = W f(x) + b, over all 2ⁿ masks r of n units

    So many copies of x are thinned that each mask is met: one of them is missing once in 10¹⁶ cases.
    """
    p = _probability(case)
    least = min(p, 1 - p)
    units = case.integer("units", 1, 3 if least > 0.1 else 1)
    x = case.tensor("x", units, away_from=(0.0,)).detach()
    weight, bias = case.tensor("W", 2, units), case.tensor("b", 2)
    block = case.build(p=p).train()
    outputs = _different(_output(case, block, x.repeat(round(40 / least**units), 1)))
    kept = (outputs != 0).sum(1).to(x)
    chances = (1 - p) ** kept * p ** (units - kept)
    return difference(chances @ (outputs @ weight.T + bias), block.eval()(x) @ weight.T + bias)


@law(*FORMS, fault=lambda p: Dropout(1 - p), tolerance=5.0, most_cases=3)  # takes p for that of keeping
def the_share_of_dropped_entries_is_p(case: Case) -> float:
    """P(f(x)ᵢ = 0) = p: standard errors away, of which 5 are met by chance once in a million"""
    p, x = _probability(case), torch.ones(20_000, 1)
    dropped = (_output(case, case.build(p=p).train(), x) == 0).double()
    return abs(float(dropped.mean()) - p) / sqrt(p * (1 - p) / len(x))


def _the_same_each_time(self: Any, x: Tensor) -> Any:
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(0)
        return self.right(x)


@law(*FORMS[:2], fault=[StochasticDepth, Fault(forward=_the_same_each_time)], tolerance=5.0, most_cases=3)
def each_entry_is_dropped_by_itself(case: Case) -> float:
    """P(rᵢ = rⱼ) = p² + (1 - p)² for neighbours along any axis and for two calls: standard errors away"""
    p, axes = _probability(case), case.integer("axes", 2, 3)
    x = torch.ones([160, 160] if axes == 2 else [30, 30, 30])
    block = case.build(p=p).train()
    with case.seeded():
        dropped = torch.stack([block(x), block(x)]) == 0
    alike, errors = p**2 + (1 - p) ** 2, []
    for axis in range(dropped.ndim):
        first, second = dropped.movedim(axis, 0)[0::2], dropped.movedim(axis, 0)[1::2]
        same = (first == second).double()
        errors.append(abs(float(same.mean()) - alike) / sqrt(alike * (1 - alike) / same.numel()))
    return max(errors)


@law(FORMS[0], FORMS[2], fault=Fault(eval=lambda self: self))
def at_test_time_nothing_is_done(case: Case) -> float:
    """f(x) = x at test time"""
    x, p = case.tensor("x", *case.sizes(), away_from=(0.0,)), case.real("p", 0, 1)
    return difference(_output(case, case.build(p=p).eval(), x), x)


@law(FORMS[2], fault=[Dropout, Fault(forward=lambda self, x: self.right(x) * ((1 - self.p) if self.training else 1))])
def an_example_is_dropped_whole_or_not_at_all(case: Case) -> float:
    """f(x)ᵢ = 0 or f(x)ᵢ = xᵢ / (1 - p)"""
    shape = case.integer("batch", 1, 6), case.integer("width", 1, 4)
    x, p = case.tensor("x", *shape, away_from=(0.0,)).detach(), case.real("p", 0, 0.9)
    y = _output(case, case.build(p=p).train(), x)
    return float(torch.stack([y, y - x / (1 - p)]).abs().amax(-1).amin(0).max())


# Small weights and smooth labels


def _weight(case: Case) -> tuple[Tensor, float]:
    return case.tensor("weight", *case.sizes(), away_from=(0.0,)), case.real("strength", 0, 2)


def _rows(case: Case) -> tuple[Tensor, float]:
    """Weights of units, and a length that none of them has."""
    return case.tensor("weight", *case.sizes(4, (2, 4)), away_from=(0.0,)), case.real("longest", 0.1, 3) + 0.005


def _targets(case: Case) -> tuple[Tensor, float]:
    shape = case.sizes(4, (0, 2))
    return case.distribution("target", *shape, case.integer("classes", 1, 5)), case.real("smoothing", 0, 1)


def _step(case: Case) -> tuple[Tensor, Tensor, float, float]:
    weight = case.tensor("weight", *case.sizes(), away_from=(0.0,))
    return weight, case.tensor("update", *weight.shape), case.real("lr", 0.01, 1), case.real("strength", 0.01, 1)


def _called_with(inputs: Callable[[Case], tuple[Any, ...]]) -> Draw:
    return lambda case: Call(case.build(), inputs(case))


def _stepped(optimizer: Callable[..., Any], weight: Tensor, gradient: Tensor, **options: Any) -> Tensor:
    """Where one step of an optimiser brings the weights."""
    moved = weight.detach().clone().requires_grad_()
    moved.grad = gradient.detach()
    optimizer([moved], **options).step()
    return moved.detach()


def _by_sgd(call: Call) -> Tensor:
    weight, gradient, lr, strength = call.inputs
    return _stepped(torch.optim.SGD, weight, gradient, lr=lr, weight_decay=strength)


def _by_adam(case: Case) -> Call:
    """The update is Adam's."""
    weight, gradient, lr, strength = _step(case)
    update = (weight.detach() - _stepped(torch.optim.Adam, weight, gradient, lr=lr)) / lr
    wanted = _stepped(torch.optim.AdamW, weight, gradient, lr=lr, weight_decay=strength)
    return Call(case.build(), (weight, update, lr, strength), options={"wanted": wanted})


def _in_cross_entropy(case: Case) -> Call:
    target, smoothing = _targets(case)
    target = target.detach().reshape(-1, target.shape[-1])
    smoothed = case.build()(target, smoothing)
    logits = case.tensor("logits", *target.shape)
    wanted = nn.CrossEntropyLoss(label_smoothing=smoothing)(logits, target)
    return Call(lambda logits: nn.CrossEntropyLoss()(logits, smoothed), (logits,), options={"wanted": wanted})


conform("regularisation.l1", _called_with(_weight), twin=regularisation.l1_penalty)
conform("regularisation.l2", _called_with(_weight), twin=regularisation.l2_penalty)
conform(
    "regularisation.weight_decay",
    _called_with(_step),
    twin=regularisation.weight_decay,
    peer={"torch.optim.SGD(weight_decay)": _by_sgd},
)
conform("regularisation.weight_decay", _by_adam, peer={"torch.optim.AdamW": _wanted})
conform(
    "regularisation.max_norm",
    _called_with(_rows),
    twin=regularisation.max_norm,
    peer={"torch.renorm": lambda call: torch.renorm(call.inputs[0].detach(), 2, 0, call.inputs[1])},
    tolerance=1e-6,  # it adds 1e-7 to the length
)
conform("regularisation.label_smoothing", _called_with(_targets), twin=regularisation.label_smoothing)
conform(
    "regularisation.label_smoothing", _in_cross_entropy, peer={"torch.nn.CrossEntropyLoss(label_smoothing)": _wanted}
)
EXAMPLES: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "l1": lambda n: (torch.linspace(-3, 3, n), 0.1),
    "l2": lambda n: (torch.linspace(-3, 3, n), 0.1),
    "weight_decay": lambda n: (torch.linspace(-3, 3, n), torch.ones(n), 0.1, 0.5),
    "max_norm": lambda n: (torch.linspace(-3, 3, n).reshape(4, -1), 3.0),
    "label_smoothing": lambda n: (F.one_hot(torch.arange(3), n // 3).float(), 0.1),
}
for _name, _inputs in EXAMPLES.items():
    example(f"regularisation.{_name}", call=lambda n, inputs=_inputs: ({}, inputs(n)), n=12)

# Their laws


def _root(weight: Tensor, strength: float) -> Tensor:
    return strength * weight.square().sum().sqrt().sqrt()


@law("regularisation.l2", fault=[lambda weight, strength: strength * weight.square().sum(), _root])
def its_gradient_is_the_weights_times_the_strength(case: Case) -> float:
    """∇ λ/2 ‖w‖² = λ w"""
    weight, strength = _weight(case)
    (gradient,) = torch.autograd.grad(case.build()(weight, strength), weight)
    return difference(gradient, strength * weight)


@law("regularisation.l1", fault=[l2_penalty, _root])
def its_gradient_has_one_size_for_all_weights(case: Case) -> float:
    """∇ λ ‖w‖₁ = λ sign(w), and 0 at w = 0"""
    weight, strength = _weight(case)
    weight = torch.stack([weight.detach(), torch.zeros_like(weight)]).requires_grad_()
    (gradient,) = torch.autograd.grad(case.build()(weight, strength), weight)
    return difference(gradient, strength * weight.sign())


@law("regularisation.weight_decay", fault=lambda weight, update, lr, strength: weight - lr * strength * weight.sign())
def without_a_gradient_all_weights_shrink_by_the_same_share(case: Case) -> float:
    """u = 0  ⟹  after t steps  w = (1 - ηλ)ᵗ w₀"""
    (weight, _, lr, strength), steps = _step(case), case.integer("steps", 1, 5)
    moved = weight
    for _ in range(steps):
        moved = case.build()(moved, torch.zeros_like(moved), lr, strength)
    return difference(moved, (1 - lr * strength) ** steps * weight)


@law("regularisation.weight_decay", fault=lambda weight, update, lr, strength: weight - lr * update)
def in_gradient_descent_it_is_an_l2_penalty(case: Case) -> float:
    """w - η ∇(L + λ/2 ‖w‖²) = (1 - ηλ) w - η ∇L"""
    weight, slope, lr, strength = _step(case)
    loss = (slope.detach() * weight).sum() + weight.sin().sum()
    (gradient,) = torch.autograd.grad(loss, weight, retain_graph=True)
    (penalised,) = torch.autograd.grad(loss + l2_penalty(weight, strength), weight)
    return difference(case.build()(weight, gradient, lr, strength), weight - lr * penalised)


@law("regularisation.max_norm", fault=lambda w, longest: longest * F.normalize(w.flatten(1)).reshape(w.shape))
def short_units_are_left_alone(case: Case) -> float:
    """‖wᵢ‖ ≤ c  ⟹  f(w)ᵢ = wᵢ"""
    weight, longest = _rows(case)
    short = F.normalize(weight.detach().flatten(1)).reshape(weight.shape) * longest * case.real("share", 0.1, 0.99)
    return difference(case.build()(short, longest), short)


@law("regularisation.max_norm", fault=lambda weight, longest: weight.clamp(-longest, longest))
def no_unit_is_longer_than_allowed(case: Case) -> float:
    """‖wᵢ‖ ≤ c for the weights into each unit i"""
    weight, longest = _rows(case)
    return excess(case.build()(weight, longest).flatten(1).norm(dim=1), longest)


@law(
    "regularisation.label_smoothing",
    fault=[
        lambda target, smoothing: target,
        lambda target, smoothing: target + smoothing / target.shape[-1],
        lambda target, smoothing: (1 - smoothing) * target + smoothing * (1 - target),
    ],
)
def the_cross_entropy_is_least_at_finite_logits(case: Case) -> float:
    """of a one-hot target: at logits z of 0, but for the label log(1 + C (1 - ε) / ε)"""
    classes, smoothing = case.integer("classes", 2, 5), case.real("smoothing", 0.01, 0.99)
    target = F.one_hot(torch.tensor(0), classes).double()
    logits = (target * log(1 + classes * (1 - smoothing) / smoothing)).requires_grad_()
    loss = F.cross_entropy(logits, case.build()(target, smoothing))
    return float(torch.autograd.grad(loss, logits)[0].abs().max())
