"""What is known of the ways to keep weights small, and of label smoothing."""

from collections.abc import Callable
from math import log
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.regularisation import l2_penalty
from gradlab.scratch import regularisation
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess, same


def _weight(case: Case) -> Tensor:
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 1, 3))]
    return case.tensor("weight", *shape, away_from=(0.0,))


def _rows(case: Case) -> tuple[Tensor, float]:
    """Weights of units, and a length that none of them has."""
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 2, 4))]
    return case.tensor("weight", *shape, away_from=(0.0,)), case.real("longest", 0.1, 3) + 0.005


def _targets(case: Case) -> tuple[Tensor, float]:
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 0, 2))]
    return case.distribution("target", *shape, case.integer("classes", 1, 5)), case.real("smoothing", 0, 1)


def _step(case: Case) -> tuple[Tensor, Tensor, float, float]:
    weight = _weight(case)
    return weight, case.tensor("update", *weight.shape), case.real("lr", 0.01, 1), case.real("strength", 0.01, 1)


# Twins


@twin("regularisation.l1", regularisation.l1_penalty)
def l1_twin(case: Case) -> float:
    weight, strength = _weight(case), case.real("strength", 0, 2)
    return agreement(case.build()(weight, strength), lambda w: regularisation.l1_penalty(w, strength), weight)


@twin("regularisation.l2", regularisation.l2_penalty)
def l2_twin(case: Case) -> float:
    weight, strength = _weight(case), case.real("strength", 0, 2)
    return agreement(case.build()(weight, strength), lambda w: regularisation.l2_penalty(w, strength), weight)


@twin("regularisation.weight_decay", regularisation.weight_decay)
def decay_twin(case: Case) -> float:
    weight, update, lr, strength = _step(case)
    decayed = case.build()(weight, update, lr, strength)
    return agreement(decayed, lambda w, u: regularisation.weight_decay(w, u, lr, strength), weight, update)


@twin("regularisation.max_norm", regularisation.max_norm)
def max_norm_twin(case: Case) -> float:
    weight, longest = _rows(case)
    return agreement(case.build()(weight, longest), lambda w: regularisation.max_norm(w, longest), weight)


@twin("regularisation.label_smoothing", regularisation.label_smoothing)
def smoothing_twin(case: Case) -> float:
    target, smoothing = _targets(case)
    smoothed = case.build()(target, smoothing)
    return agreement(smoothed, lambda t: regularisation.label_smoothing(t, smoothing), target)


# Peers


def _steps_of(
    optimizer: Callable[[list[Tensor]], torch.optim.Optimizer], weight: Tensor, gradients: list[Tensor]
) -> Tensor:
    """Where an optimiser has brought the weights after these gradients."""
    moved = weight.detach().clone().requires_grad_()
    made = optimizer([moved])
    for moved.grad in gradients:
        made.step()
    return moved.detach()


@peer("regularisation.weight_decay", "torch.optim.SGD(weight_decay)")
def in_gradient_descent(case: Case) -> float:
    weight, gradient, lr, strength = _step(case)
    wanted = _steps_of(lambda w: torch.optim.SGD(w, lr, weight_decay=strength), weight, [gradient])
    return difference(case.build()(weight, gradient, lr, strength), wanted)


@peer("regularisation.weight_decay", "torch.optim.AdamW")
def in_adam(case: Case) -> float:
    weight, gradient, lr, strength = _step(case)
    adam = _steps_of(lambda w: torch.optim.Adam(w, lr), weight, [gradient])
    wanted = _steps_of(lambda w: torch.optim.AdamW(w, lr, weight_decay=strength), weight, [gradient])
    return difference(case.build()(weight, (weight - adam) / lr, lr, strength), wanted)


@peer("regularisation.max_norm", "torch.renorm", tolerance=1e-6)  # which adds 1e-7 to the length
def torchs_renorm(case: Case) -> float:
    weight, longest = _rows(case)
    return difference(case.build()(weight, longest), torch.renorm(weight, 2, 0, longest))


@peer("regularisation.label_smoothing", "torch.nn.CrossEntropyLoss(label_smoothing)")
def in_cross_entropy(case: Case) -> float:
    target, smoothing = _targets(case)
    target = target.reshape(-1, target.shape[-1])
    logits = case.tensor("logits", *target.shape)
    ours = nn.CrossEntropyLoss()(logits, case.build()(target, smoothing))
    return same(ours, nn.CrossEntropyLoss(label_smoothing=smoothing)(logits, target), [logits])


# Examples


@example("regularisation.l1", n=12)
@example("regularisation.l2", n=12)
def penalty_example(n: int) -> Any:
    return {}, (torch.linspace(-3, 3, n), 0.1)


@example("regularisation.weight_decay", n=12)
def decay_example(n: int) -> Any:
    return {}, (torch.linspace(-3, 3, n), torch.ones(n), 0.1, 0.5)


@example("regularisation.max_norm", n=12)
def max_norm_example(n: int) -> Any:
    return {}, (torch.linspace(-3, 3, n).reshape(4, -1), 3.0)


@example("regularisation.label_smoothing", n=12)
def smoothing_example(n: int) -> Any:
    return {}, (F.one_hot(torch.arange(3), n // 3).float(), 0.1)


# Laws. Each comes with a version of the block that breaks it.


@law("regularisation.l2", wrong=lambda weight, strength: strength * weight.square().sum())
def its_gradient_is_the_weights_times_the_strength(case: Case) -> float:
    """∇ λ/2 ‖w‖² = λ w"""
    weight, strength = _weight(case), case.real("strength", 0, 2)
    (gradient,) = torch.autograd.grad(case.build()(weight, strength), weight)
    return difference(gradient, strength * weight)


@law("regularisation.l1", wrong=l2_penalty)
def its_gradient_has_one_size_for_all_weights(case: Case) -> float:
    """∇ λ ‖w‖₁ = λ sign(w), and 0 at w = 0"""
    weight, strength = _weight(case).detach(), case.real("strength", 0, 2)
    weight = torch.stack([weight, torch.zeros_like(weight)]).requires_grad_()
    (gradient,) = torch.autograd.grad(case.build()(weight, strength), weight)
    return difference(gradient, strength * weight.sign())


@law(
    "regularisation.l1",
    "regularisation.l2",
    wrong=lambda weight, strength: strength * weight.square().sum().sqrt().sqrt(),
)
def the_middle_is_not_above_the_mean_of_the_ends(case: Case) -> float:
    """f(½w + ½v) ≤ ½f(w) + ½f(v): convex"""
    w, strength, f = _weight(case), case.real("strength", 0.1, 2), case.build()
    v = case.tensor("v", *w.shape)
    return excess(f((w + v) / 2, strength), (f(w, strength) + f(v, strength)) / 2)


@law("regularisation.weight_decay", wrong=lambda weight, update, lr, strength: weight - lr * update)
def in_gradient_descent_it_is_an_l2_penalty(case: Case) -> float:
    """w - η ∇(L + λ/2 ‖w‖²) = (1 - ηλ) w - η ∇L"""
    weight, slope, lr, strength = _step(case)
    loss = (slope.detach() * weight).sum() + weight.sin().sum()
    (gradient,) = torch.autograd.grad(loss, weight, retain_graph=True)
    (penalised,) = torch.autograd.grad(loss + l2_penalty(weight, strength), weight)
    return difference(case.build()(weight, gradient, lr, strength), weight - lr * penalised)


@law("regularisation.weight_decay", wrong=lambda weight, update, lr, strength: weight - lr * strength * weight.sign())
def without_a_gradient_all_weights_shrink_by_the_same_share(case: Case) -> float:
    """u = 0  ⟹  after t steps  w = (1 - ηλ)ᵗ w₀"""
    weight, _, lr, strength = _step(case)
    steps, f, moved = case.integer("steps", 1, 5), case.build(), weight
    for _ in range(steps):
        moved = f(moved, torch.zeros_like(moved), lr, strength)
    return difference(moved, (1 - lr * strength) ** steps * weight)


@law("regularisation.max_norm", wrong=lambda weight, longest: weight.clamp(-longest, longest))
def no_unit_is_longer_than_allowed(case: Case) -> float:
    """‖wᵢ‖ ≤ c for the weights into each unit i"""
    weight, longest = _rows(case)
    return excess(case.build()(weight, longest).flatten(1).norm(dim=1), longest)


@law(
    "regularisation.max_norm",
    wrong=lambda weight, longest: longest * F.normalize(weight.flatten(1)).reshape(weight.shape),
)
def short_units_are_left_alone(case: Case) -> float:
    """‖wᵢ‖ ≤ c  ⟹  f(w)ᵢ = wᵢ"""
    weight, longest = _rows(case)
    short = weight.detach() / weight.detach().flatten(1).norm(dim=1).max() * longest * case.real("share", 0.1, 0.99)
    return difference(case.build()(short, longest), short)


@law("regularisation.max_norm", wrong=lambda weight, longest: weight.clamp(-longest, longest))
def directions_are_kept(case: Case) -> float:
    """f(w)ᵢ / ‖f(w)ᵢ‖ = wᵢ / ‖wᵢ‖"""
    weight, longest = _rows(case)
    got = case.build()(weight, longest)
    return difference(F.normalize(got.flatten(1)), F.normalize(weight.flatten(1)))


@law("regularisation.label_smoothing", wrong=lambda target, smoothing: target + smoothing / target.shape[-1])
def targets_still_sum_to_one(case: Case) -> float:
    """Σ q = 1"""
    target, smoothing = _targets(case)
    total = case.build()(target, smoothing).sum(-1)
    return difference(total, torch.ones_like(total))


@law(
    "regularisation.label_smoothing",
    wrong=lambda target, smoothing: (1 - smoothing) * target + smoothing * (1 - target),
)
def the_order_of_the_classes_stays(case: Case) -> float:
    """qᵢ - qⱼ = (1 - ε)(tᵢ - tⱼ)"""
    target, smoothing = _targets(case)
    q = case.build()(target, smoothing)
    return difference(q - q[..., :1], (1 - smoothing) * (target - target[..., :1]))


@law("regularisation.label_smoothing", wrong=lambda target, smoothing: target)
def the_cross_entropy_is_least_at_finite_logits(case: Case) -> float:
    """of a one-hot target: at logits z of 0, but for the label log(1 + C (1 - ε) / ε)"""
    classes, smoothing = case.integer("classes", 2, 5), case.real("smoothing", 0.01, 0.99)
    target = F.one_hot(torch.tensor(0), classes).double()
    logits = (target * log(1 + classes * (1 - smoothing) / smoothing)).requires_grad_()
    loss = F.cross_entropy(logits, case.build()(target, smoothing))
    (slope,) = torch.autograd.grad(loss, logits)
    return float(slope.abs().max())
