"""Laws of the Kullback-Leibler divergence, and of all divergences at 0. Each comes with a version that breaks it."""

import numpy as np
import torch
from torch import Tensor

from gradlab.nn import divergences as ours
from gradlab.nn.losses import gaussian_nll
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess, gradients
from gradlab.verification.families.divergences.divergences import distributions, normals, together


def infinite(value: Tensor) -> float:
    """How many are not: 0 when all are."""
    return float((value != torch.inf).sum())


# At probabilities of 0

PAIRS = ["divergence.cross_entropy", "divergence.kl", "divergence.jensen_shannon"]


def _kl_by_ratio(p: Tensor, q: Tensor) -> Tensor:
    terms: Tensor = torch.special.xlogy(p, p / q)
    return terms.sum(-1)


@law(
    "divergence.entropy",
    *PAIRS,
    wrong={
        "divergence.entropy": lambda p: torch.special.entr(p).sum(-1),
        "divergence.cross_entropy": lambda p, q: -torch.special.xlogy(p, q).sum(-1),
        "divergence.kl": _kl_by_ratio,
        "divergence.jensen_shannon": lambda p, q: 0.5 * (_kl_by_ratio(p, (p + q) / 2) + _kl_by_ratio(q, (p + q) / 2)),
    },
)
def slopes_are_finite_at_impossible_outcomes(case: Case) -> float:
    """value and slope are finite where p = 0, and where p = q = 0"""
    p, q = (
        torch.cat([x.detach(), torch.zeros_like(x[..., :1])], -1).requires_grad_()
        for x in distributions(case, "p", "q")
    )
    leaves = [p] if case.subject.name == "divergence.entropy" else [p, q]
    value = case.build()(*leaves)
    return float(sum((~x.isfinite()).sum() for x in (value, *gradients(value, leaves))))


def _kept_from_zero(p: Tensor, q: Tensor) -> Tensor:
    return ours.kl(p, q + 1e-9)


@law("divergence.kl", "divergence.cross_entropy", wrong=_kept_from_zero)
def it_is_infinite_where_something_happens_that_was_held_impossible(case: Case) -> float:
    """= ∞ if pᵢ > 0 = qᵢ for some i: a one-hot q costs an infinity for every p but itself"""
    p = case.distribution("p", case.integer("batch", 1, 3), case.integer("outcomes", 2, 5))
    certain = torch.zeros_like(p)
    certain[..., -1] = 1
    divergence = case.build()
    return infinite(divergence(p, certain)) + float(divergence(certain, certain).abs().max())


@law("divergence.kl", wrong=ours.cross_entropy)
def it_is_not_negative_and_0_for_equals(case: Case) -> float:
    """KL(p‖q) ≥ 0 = KL(p‖p)"""
    (p, q), kl = distributions(case, "p", "q"), case.build()
    return max(excess(-kl(p, q), 0.0), float(kl(p, p).abs().max()))


@law("divergence.kl", wrong=lambda p, q: ours.kl(p, q) + ours.kl(q, p))
def exchanging_the_two_gives_another_number(case: Case) -> float:
    """KL(p‖q) < ∞ = KL(q‖p), if fewer outcomes are possible in p than in q"""
    q = case.distribution("q", case.integer("outcomes", 2, 5))
    p = torch.cat([q[1:] / q[1:].sum(), torch.zeros_like(q[:1])]).roll(1)
    kl = case.build()
    return infinite(kl(q, p)) + float(not kl(p, q).isfinite())


@law("divergence.kl", wrong=ours.cross_entropy)
def mixtures_are_no_further_apart_than_their_parts(case: Case) -> float:
    """KL(λp + (1-λ)p'‖λq + (1-λ)q') ≤ λKL(p‖q) + (1-λ)KL(p'‖q')"""
    p, q, other_p, other_q = distributions(case, "p", "q", "p'", "q'")
    share, kl = case.real("λ", 0, 1), case.build()
    mixed = kl(share * p + (1 - share) * other_p, share * q + (1 - share) * other_q)
    return excess(mixed, share * kl(p, q) + (1 - share) * kl(other_p, other_q))


@law("divergence.kl", wrong=lambda p, q: (p * (p / q).log()).mean(-1))
def those_of_independent_variables_add_up(case: Case) -> float:
    """KL(p ⊗ p'‖q ⊗ q') = KL(p‖q) + KL(p'‖q')"""
    (p, q, other_p, other_q), kl = distributions(case, "p", "q", "p'", "q'"), case.build()
    return difference(kl(together(p, other_p), together(q, other_q)), kl(p, q) + kl(other_p, other_q))


def _by_rank(p: Tensor, q: Tensor) -> Tensor:
    return (p * (p / q).log() * torch.arange(1, p.shape[-1] + 1)).sum(-1)


@law("divergence.kl", wrong=_by_rank)
def other_names_for_the_outcomes_change_nothing(case: Case) -> float:
    """KL(Ψp‖Ψq) = KL(p‖q) for a permutation Ψ"""
    (p, q), kl = distributions(case, "p", "q"), case.build()
    order = case.permutation("Ψ", p.shape[-1])
    return difference(kl(p[..., order], q[..., order]), kl(p, q))


@law(
    "divergence.kl",
    "divergence.total_variation",
    "divergence.jensen_shannon",
    wrong=lambda p, q: ((p - q) ** 2).sum(-1),
)
def who_sees_less_finds_them_no_further_apart(case: Case) -> float:
    """d(Kp, Kq) ≤ d(p, q), where K makes one outcome of two"""
    p, q = distributions(case, "p", "q")
    coarse = [torch.cat([x[..., :2].sum(-1, keepdim=True), x[..., 2:]], -1) for x in (p, q)]
    divergence = case.build()
    return excess(divergence(*coarse), divergence(p, q))


# Normal distributions


def _printed(mean: Tensor, std: Tensor, *other: Tensor) -> Tensor:
    return 0.5 * ((std**2).log() + std**2 + mean**2 - 1).sum(-1)


@law("divergence.kl_gaussian", wrong=_printed)
def it_is_not_negative_and_0_for_equal_ones(case: Case) -> float:
    """KL(N‖M) ≥ 0 = KL(N‖N)"""
    (mean, std, *other), kl = normals(case), case.build()
    return max(excess(-kl(mean, std, *other), 0.0), float(kl(mean, std, mean, std).abs().max()))


@law("divergence.kl_gaussian", wrong=_printed)
def one_std_counts_once_for_each_dimension(case: Case) -> float:
    """KL(N(μ, σ²I)‖N(0, I)) = ½(dσ² + ‖μ‖² - d - d log σ²)"""
    mean, std, *_ = normals(case)
    std, d = std[..., :1], mean.shape[-1]
    wanted = 0.5 * (d * std.square() - d - d * std.square().log()).squeeze(-1) + 0.5 * mean.square().sum(-1)
    return difference(case.build()(mean, std), wanted)


@law("divergence.kl_gaussian", wrong=lambda mean, std, m, s: ours.kl_gaussian(m, s, mean, std))
def it_is_the_mean_of_the_difference_of_log_densities(case: Case) -> float:
    """KL(N‖M) = E_{x~N} [log N(x) - log M(x)], by Gauss and Hermite's quadrature"""
    mean, std, other_mean, other_std = normals(case)
    nodes, weights = (torch.from_numpy(x) for x in np.polynomial.hermite_e.hermegauss(4))
    x = mean + std * nodes.reshape(-1, *[1] * mean.ndim)
    surprises = [
        gaussian_nll(m.expand_as(x), x, s, reduction="none") for m, s in ((other_mean, other_std), (mean, std))
    ]
    wanted = torch.tensordot(weights / weights.sum(), (surprises[0] - surprises[1]).sum(-1), 1)
    return difference(case.build()(mean, std, other_mean, other_std), wanted)


@law("divergence.kl_gaussian", wrong=_printed)
def other_units_change_nothing(case: Case) -> float:
    """KL(ΨN‖ΨM) = KL(N‖M) for Ψ(x) = ax + b"""
    (mean, std, other_mean, other_std), kl = normals(case), case.build()
    a, b = case.tensor("a", mean.shape[-1], away_from=(0.0,)), case.tensor("b", mean.shape[-1])
    changed = kl(a * mean + b, a.abs() * std, a * other_mean + b, a.abs() * other_std)
    return difference(changed, kl(mean, std, other_mean, other_std))
