"""Laws of the likelihoods of classes, of normal noise and of counts. Each comes with a version that breaks it."""

from math import log, pi

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.nn import divergences
from gradlab.nn import losses as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.families.losses.laws import bent, reduced, slope, total, wrong
from gradlab.verification.families.losses.losses import classified, inputs, predicted, settled

# Of classes


def _once_for_each_class(logits: Tensor, target: Tensor) -> Tensor:
    y = target if target.shape == logits.shape else F.one_hot(target, logits.shape[-1]).to(logits)
    return F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(-1)


@law("loss.cross_entropy", wrong=wrong(lambda z, y: ours.cross_entropy(z.softmax(-1), y, reduction="none")))
def it_is_the_log_of_the_sum_of_exponentials_minus_the_targets_logit(case: Case) -> float:
    """ℓ(z, y) = log Σ_c exp z_c - Σ_c y_c z_c"""
    logits, target = classified(case)
    y = target if target.shape == logits.shape else F.one_hot(target, logits.shape[-1])
    return difference(total(case)(logits, target), (logits.logsumexp(-1) - (y * logits).sum(-1)).sum())


@law("loss.cross_entropy", wrong=wrong(_once_for_each_class))
def moving_all_logits_alike_changes_nothing(case: Case) -> float:
    """ℓ(z + c, y) = ℓ(z, y)"""
    (logits, target), loss, c = classified(case), total(case), case.real("c", -50, 50)
    return difference(loss(logits + c, target), loss(logits, target))


@law("loss.cross_entropy", wrong=bent("loss.cross_entropy", torch.neg))
def equal_logits_cost_the_log_of_the_number_of_classes(case: Case) -> float:
    """ℓ(0, y) = log C: the loss of a classifier that has learned nothing"""
    logits, target = classified(case)
    examples, classes = logits[..., 0].numel(), torch.tensor(float(logits.shape[-1]), dtype=torch.float64)
    return difference(total(case)(0 * logits, target), examples * classes.log())


def _relative(logits: Tensor, target: Tensor) -> Tensor:
    return divergences.kl(target, logits.softmax(-1))


@law("loss.cross_entropy", wrong=wrong(_relative))
def it_is_the_entropy_of_the_target_plus_the_divergence_from_it(case: Case) -> float:
    """ℓ(z, y) = H(y) + KL(y‖softmax(z))"""
    logits, target = classified(case, "probabilities")
    wanted = divergences.entropy(target) + divergences.kl(target, logits.softmax(-1))
    return difference(total(case)(logits, target), wanted.sum())


def _spread_over_the_others(logits: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    classes = logits.shape[-1]
    y = F.one_hot(target, classes).to(logits)
    smoothed = (1 - label_smoothing) * y + label_smoothing * (1 - y) / max(classes - 1, 1)
    return ours.cross_entropy(logits, smoothed, reduction="none")


@law("loss.cross_entropy", wrong=wrong(_spread_over_the_others))
def smoothing_spreads_a_share_over_all_classes(case: Case) -> float:
    """ℓ_ε(z, y) = (1 - ε) ℓ(z, y) + ε/C Σ_c ℓ(z, c)"""
    (logits, target), share = classified(case, "classes"), case.real("label_smoothing", 0, 1)
    plain, classes = total(case, label_smoothing=0.0), logits.shape[-1]
    spread = sum(plain(logits, torch.full_like(target, c)) for c in range(classes)) / classes
    smoothed = total(case, label_smoothing=share)(logits, target)
    return difference(smoothed, (1 - share) * plain(logits, target) + share * spread)


def _mean_over_all(logits: Tensor, target: Tensor, mask: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    losses = ours.cross_entropy(logits, target, mask, reduction="none")
    return losses.mean() if reduction == "mean" else reduced(losses, reduction)


@law("loss.cross_entropy", wrong=_mean_over_all)
def masked_examples_take_no_part(case: Case) -> float:
    """ℓ(z, y, mask) = ℓ(z[mask], y[mask])"""
    (logits, target), reduction = classified(case), case.choice("reduction", ("mean",))
    mask = case.mask("mask", *logits.shape[:-1]) if logits.ndim > 1 else torch.tensor(True)
    spoilt = torch.where(mask[..., None], logits, torch.nan)
    got = settled(case, reduction=reduction, mask=mask)(spoilt, target)
    return difference(got.sum(), settled(case, reduction=reduction)(logits[mask], target[mask]).sum())


@law(
    "loss.cross_entropy",
    "loss.binary_cross_entropy",
    wrong={
        "loss.cross_entropy": wrong(lambda z, y: -z.softmax(-1).log().gather(-1, y[..., None]).squeeze(-1)),
        "loss.binary_cross_entropy": wrong(lambda z, y: F.binary_cross_entropy(z.sigmoid(), y, reduction="none")),
    },
)
def hopeless_logits_cost_what_they_are_far_off(case: Case) -> float:
    """ℓ = 5000 and finite slopes in float32, for a logit that is 5000 below the other"""
    if case.subject.name == "loss.cross_entropy":
        logits, target = torch.tensor([[0.0, 5000.0]]), torch.tensor([0])
    else:
        logits, target = torch.tensor([-5000.0]), torch.tensor([1.0])
    value = total(case)(logits.requires_grad_(), target)
    return float((value - 5000).abs() + (~slope(value, logits).isfinite()).sum())


@law(
    "loss.binary_cross_entropy",
    wrong=wrong(lambda z, y: F.binary_cross_entropy_with_logits(2 * z, y, reduction="none")),
)
def it_is_the_cross_entropy_of_the_logits_0_and_z(case: Case) -> float:
    """ℓ(z, y) = cross-entropy of (0, z) and (1 - y, y)"""
    z, y = inputs(case)
    two, targets = torch.stack([torch.zeros_like(z), z], -1), torch.stack([1 - y, y], -1)
    return difference(total(case)(z, y), ours.cross_entropy(two, targets, reduction="sum"))


@law(
    "loss.binary_cross_entropy",
    wrong=wrong(lambda z, y: F.binary_cross_entropy_with_logits(z, y, reduction="none", pos_weight=torch.tensor(2.0))),
)
def exchanging_the_outcomes_changes_nothing(case: Case) -> float:
    """ℓ(-z, 1 - y) = ℓ(z, y)"""
    (z, y), loss = inputs(case), total(case)
    return difference(loss(-z, 1 - y), loss(z, y))


# Of likelihoods


@law(
    "loss.gaussian_nll",
    wrong=wrong(
        lambda m, y, s=1.0: torch.as_tensor(s).log() + 0.5 * log(2 * pi) + ours.squared(m, y, reduction="none") / s
    ),
)
def predictions_compare_as_their_squared_errors(case: Case) -> float:
    """ℓ(u, y) - ℓ(v, y) = (½(u - y)² - ½(v - y)²) / σ²: the best prediction is that of least squares"""
    (u, target), loss, std = inputs(case), total(case), case.positive("std")
    v = case.tensor("other prediction", *u.shape)
    wanted = ours.squared(u, target, reduction="sum") - ours.squared(v, target, reduction="sum")
    return difference(loss(u, target, std) - loss(v, target, std), wanted / std**2)


@law(
    "loss.gaussian_nll",
    wrong=wrong(lambda m, y, s=1.0: torch.as_tensor(s).log() * 2 + ours.squared(m / s, y / s, reduction="none")),
)
def the_best_std_is_the_root_of_the_mean_square_error(case: Case) -> float:
    """∂ℓ/∂σ = 0 at σ² = mean of (y - μ)²"""
    mean, target = predicted(case, case.integer("size", 1, 5))
    std = (mean - target).detach().square().mean().sqrt().requires_grad_()
    return float((slope(total(case)(mean, target, std), std) * std / len(mean)).abs())


@law("loss.gaussian_nll", wrong=bent("loss.gaussian_nll", lambda losses: losses - 0.5 * log(2 * pi)))
def the_likelihood_is_a_density(case: Case) -> float:
    """∫ exp(-ℓ(μ, y)) dy = 1"""
    loss, mean, std = total(case), case.tensor("mean", 1).detach(), case.positive("std", 1).detach()
    steps = torch.linspace(-9, 9, 37, dtype=torch.float64)[:, None]
    likelihoods = torch.stack([torch.exp(-loss(mean, mean + step * std, std)) for step in steps])
    return float((likelihoods.sum() * 0.5 * std - 1).abs())


@law("loss.poisson_nll", wrong=wrong(lambda z, y, full=False: F.poisson_nll_loss(z, y, full=full, reduction="none")))
def the_likelihoods_of_all_counts_sum_to_one(case: Case) -> float:
    """Σ_y exp(-ℓ(η, y)) = 1, if log y! is not left out"""
    loss, log_rate = total(case, full=True), case.real("log_rate", -2, 2)
    eta = torch.tensor([log_rate], dtype=torch.float64)
    likelihoods = torch.stack([torch.exp(-loss(eta, torch.full_like(eta, count))) for count in range(60)])
    return float((likelihoods.sum() - 1).abs())
