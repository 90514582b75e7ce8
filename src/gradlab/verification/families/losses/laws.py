"""Laws of all losses, and of those of errors. Each comes with a version of the loss that breaks it."""

from collections.abc import Callable
from math import log, pi
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn import losses as ours
from gradlab.nn.blocks import find_block
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.losses.losses import Loss, inputs, predicted, settled
from gradlab.verification.subject import Incomparable

ALL = [
    f"loss.{name}"
    for name in ("squared", "absolute", "huber", "cross_entropy", "binary_cross_entropy", "gaussian_nll", "poisson_nll")
]
OF_ERRORS = ["loss.squared", "loss.absolute", "loss.huber"]


def total(case: Case, **settings: Any) -> Loss:
    """The sum of the losses of all examples, from the mean that a loss is by default."""
    reduction = case.choice("reduction", ("mean",))
    loss = settled(case, reduction=reduction, **settings)

    def summed(prediction: Tensor, target: Tensor, *others: Any) -> Tensor:
        value = loss(prediction, target, *others)
        examples = prediction[..., 0] if case.subject.name == "loss.cross_entropy" else prediction
        return value * examples.numel() if reduction == "mean" else value.sum()

    return summed


def slope(value: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(value, x)[0]


def wrong(losses: Loss) -> Loss:
    """A loss whose single losses are these."""

    def loss(*inputs: Any, reduction: str = "mean", **settings: Any) -> Tensor:
        return reduced(losses(*inputs, **settings), reduction)

    return loss


def bent(name: str, bend: Callable[[Tensor], Tensor]) -> Loss:
    """The loss, with each single loss changed."""
    return wrong(lambda *inputs, **settings: bend(find_block(name)(*inputs, reduction="none", **settings)))


def reduced(losses: Tensor, reduction: str) -> Tensor:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


# Of all losses


def _mean_over_the_first_axis(name: str) -> Loss:
    def loss(*inputs: Any, reduction: str = "mean") -> Tensor:
        losses: Tensor = find_block(name)(*inputs, reduction="none")
        return losses.sum() / len(losses) if reduction == "mean" and losses.ndim else reduced(losses, reduction)

    return loss


def _constant_outside_of_the_sum(mean: Tensor, target: Tensor, std: Any = 1.0, *, reduction: str = "mean") -> Tensor:
    losses = ours.squared(mean / std, target / std, reduction="none")
    return 0.5 * log(2 * pi) + torch.as_tensor(std).log() + reduced(losses, reduction)


@law(*ALL, wrong={name: _mean_over_the_first_axis(name) for name in ALL} | {ALL[5]: _constant_outside_of_the_sum})
def the_sum_and_the_mean_are_those_of_the_single_losses(case: Case) -> float:
    """ℓ_sum = Σᵢ ℓᵢ,  ℓ_mean = ℓ_sum / n"""
    if "reduction" in case.subject.fixed:
        raise Incomparable("its reduction is fixed")
    prediction, target = inputs(case)
    single, added, mean = (settled(case, reduction=r)(prediction, target) for r in ("none", "sum", "mean"))
    return difference((added, mean), (single.sum(), single.mean()))


@law(*ALL, wrong={name: bent(name, torch.tanh) for name in ALL})
def the_middle_is_not_above_the_mean_of_the_ends(case: Case) -> float:
    """ℓ(½u + ½v, y) ≤ ½ℓ(u, y) + ½ℓ(v, y): convex in the prediction"""
    (u, target), loss = inputs(case), total(case)
    v = case.tensor("other prediction", *u.shape, scale=3.0)
    return excess(loss((u + v) / 2, target), (loss(u, target) + loss(v, target)) / 2)


CANONICAL: dict[str, Callable[[Tensor], Tensor]] = {  # from what is predicted to the mean of the target
    "loss.squared": lambda z: z,
    "loss.binary_cross_entropy": torch.sigmoid,
    "loss.cross_entropy": lambda z: z.softmax(-1),
    "loss.poisson_nll": torch.exp,
}


@law(
    *CANONICAL,
    wrong={
        "loss.squared": bent("loss.squared", lambda losses: 2 * losses),
        "loss.binary_cross_entropy": wrong(lambda z, y: 0.5 * (z.sigmoid() - y) ** 2),
        "loss.cross_entropy": wrong(lambda z, y: ours.cross_entropy(z.softmax(-1), y, reduction="none")),
        "loss.poisson_nll": wrong(lambda z, y: 0.5 * (z.exp() - y) ** 2),
    },
)
def the_slope_is_the_prediction_minus_the_target(case: Case) -> float:
    """∂ℓ/∂z = g⁻¹(z) - y, where g is the canonical link: identity, logit, softmax, logarithm"""
    z, target = inputs(case)
    mean = CANONICAL[case.subject.name](z)
    y = target if target.shape == mean.shape else F.one_hot(target, mean.shape[-1])
    return difference(slope(total(case)(z, target), z), mean - y)


def _constants(case: Case) -> tuple[Loss, Tensor, list[Tensor]]:
    """The loss of one number predicted for all targets, the targets, and numbers to predict."""
    loss, (_, target) = total(case), inputs(case)
    others = case.tensor("constants", 8, scale=2.0).detach()
    return (lambda c, y: loss(c.expand_as(y), y)), target.reshape(-1).detach(), list(others)


@law("loss.squared", "loss.poisson_nll", wrong=wrong(lambda z, y: (z - y).abs()))
def the_best_constant_is_the_mean(case: Case) -> float:
    """Σ ℓ(g(ȳ), yᵢ) ≤ Σ ℓ(c, yᵢ) for all c"""
    loss, target, others = _constants(case)
    mean = target.mean().clamp(min=1e-9).log() if case.subject.name == "loss.poisson_nll" else target.mean()
    return max(excess(loss(mean, target), loss(c, target)) for c in others)


@law("loss.absolute", wrong=bent("loss.squared", lambda losses: losses))
def the_best_constant_is_the_median(case: Case) -> float:
    """Σ |median - yᵢ| ≤ Σ |c - yᵢ| for all c"""
    loss, target, others = _constants(case)
    return max(excess(loss(target.median(), target), loss(c, target)) for c in others)


# Of errors


@law(
    *OF_ERRORS,
    wrong=wrong(lambda prediction, target, **_: torch.where(prediction > target, 0.7, -0.3) * (prediction - target)),
)
def errors_of_either_sign_cost_the_same(case: Case) -> float:
    """ℓ(y + e, y) = ℓ(y - e, y)"""
    (prediction, target), loss = inputs(case), total(case)
    return difference(loss(prediction, target), loss(2 * target - prediction, target))


@law("loss.squared", "loss.absolute", wrong=bent("loss.huber", lambda losses: losses))
def stretching_all_by_a_number_stretches_the_loss(case: Case) -> float:
    """ℓ(aŷ, ay) = a² ℓ(ŷ, y) if squared, |a| ℓ(ŷ, y) if absolute"""
    (prediction, target), loss, a = inputs(case), total(case), case.real("a", -3, 3)
    factor = a**2 if case.subject.name == "loss.squared" else abs(a)
    return difference(loss(a * prediction, a * target), factor * loss(prediction, target))


def _smooth_l1(prediction: Tensor, target: Tensor, delta: float = 1.0) -> Tensor:
    """Another function, which is the Huber loss for δ = 1 alone."""
    return F.smooth_l1_loss(prediction, target, beta=delta, reduction="none")


@law("loss.huber", wrong=wrong(_smooth_l1))
def errors_within_delta_cost_half_their_square(case: Case) -> float:
    """ℓ = ½e² for |e| ≤ δ"""
    delta, (prediction, target) = case.real("delta", 0.1, 3), predicted(case, case.integer("size", 1, 5))
    inside = target + delta * torch.tanh(prediction - target)
    return difference(total(case, delta=delta)(inside, target), 0.5 * (inside - target).square().sum())


@law("loss.huber", wrong=wrong(_smooth_l1))
def a_small_delta_gives_the_absolute_error(case: Case) -> float:
    """| ℓ/δ - |e| | ≤ δ/2 for each error, so ℓ/δ → |e| as δ → 0"""
    delta, (prediction, target) = case.real("delta", 0.01, 0.5), predicted(case, case.integer("size", 1, 5))
    loss = total(case, delta=delta)(prediction, target)
    return excess((loss / delta - (prediction - target).abs().sum()).abs(), delta / 2 * len(target))


def _kinked(prediction: Tensor, target: Tensor, delta: float = 1.0) -> Tensor:
    size = (prediction - target).abs()
    return torch.where(size <= delta, 0.5 * size**2, size - delta + 0.5 * delta**2)


@law("loss.huber", wrong=wrong(_kinked))
def neither_value_nor_slope_jumps_at_delta(case: Case) -> float:
    """ℓ(e) → ℓ(δ) and ℓ'(e) → ℓ'(δ) as e → δ"""
    delta = case.real("delta", 0.1, 3)
    loss = total(case, delta=delta)
    inside, outside = (torch.tensor([delta + h], dtype=torch.float64, requires_grad=True) for h in (-1e-12, 1e-12))
    values = [loss(e, torch.zeros_like(e)) for e in (inside, outside)]
    return difference((values[0], slope(values[0], inside)), (values[1], slope(values[1], outside)))


@law("loss.huber", wrong=wrong(lambda prediction, target, **_: 0.5 * (prediction - target) ** 2))
def no_error_pulls_harder_than_delta(case: Case) -> float:
    """|ℓ'(e)| ≤ δ"""
    delta, (prediction, target) = case.real("delta", 0.1, 3), inputs(case)
    return excess(slope(total(case, delta=delta)(prediction, target), prediction).abs(), delta)
