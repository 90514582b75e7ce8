"""Laws of total variation, of norms, of Jensen and Shannon's divergence. Each comes with a version that breaks it."""

from collections.abc import Callable
from itertools import product
from math import log

import torch
from torch import Tensor

from gradlab.nn import divergences as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.divergences.divergences import distributions, with_zeros
from gradlab.verification.families.losses.losses import settled


def _l1(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).abs().sum(-1)


@law("divergence.total_variation", wrong=_l1)
def it_is_the_largest_difference_over_all_events(case: Case) -> float:
    """d(p, q) = max over A of |p(A) - q(A)|, the outcomes with pᵢ ≥ qᵢ being such an A"""
    p, q = distributions(case, "p", "q")
    events = torch.tensor(list(product((0.0, 1.0), repeat=p.shape[-1])), dtype=torch.float64)
    largest = ((p - q) @ events.T).abs().amax(-1)
    attained = torch.where(p >= q, p - q, 0.0).sum(-1)
    distance = case.build()(p, q)
    return difference((distance, distance), (largest, attained))


@law("divergence.total_variation", wrong=_l1)
def it_is_1_for_distributions_with_nothing_in_common(case: Case) -> float:
    """0 ≤ d(p, q) ≤ 1, and 1 if pᵢqᵢ = 0 for all i"""
    (p, q), distance = distributions(case, "p", "q"), case.build()
    apart = distance(torch.cat([p, torch.zeros_like(q)], -1), torch.cat([torch.zeros_like(p), q], -1))
    return max(excess(distance(p, q), 1.0), difference(apart, torch.ones_like(apart)))


@law("divergence.total_variation", wrong=_l1)
def its_square_is_at_most_half_the_divergence(case: Case) -> float:
    """d(p, q)² ≤ ½ KL(p‖q): Pinsker"""
    p, q = distributions(case, "p", "q")
    return excess(case.build()(p, q) ** 2, 0.5 * ours.kl(p, q))


DISTANCES = ["divergence.total_variation", "divergence.lp", "divergence.jensen_shannon"]


def _distance(case: Case) -> Callable[[Tensor, Tensor], Tensor]:
    """The block as a distance: of Jensen and Shannon's divergence, the root is one."""
    if case.subject.name == "divergence.lp":
        return settled(case, order=case.real("order", 1, 4))
    block: Callable[[Tensor, Tensor], Tensor] = case.build()
    return (lambda p, q: block(p, q).clamp(min=0).sqrt()) if "jensen" in case.subject.name else block


@law(*DISTANCES, wrong=lambda p, q, order=2.0: ours.kl(p, q))
def the_distance_back_is_the_same_and_0_to_itself(case: Case) -> float:
    """d(p, q) = d(q, p) ≥ 0 = d(p, p)"""
    p, q = distributions(case, "p", "q")
    distance = _distance(case)
    return max(
        difference(distance(p, q), distance(q, p)), excess(-distance(p, q), 0.0), float(distance(p, p).abs().max())
    )


@law(
    *DISTANCES,
    wrong={
        "divergence.total_variation": lambda p, q: ((p - q) ** 2).sum(-1),
        "divergence.lp": lambda p, q, order=2.0: ((p - q).abs() ** 0.5).sum(-1) ** 2,
        "divergence.jensen_shannon": lambda p, q: ours.jensen_shannon(p, q) ** 2,
    },
)
def a_detour_is_no_shorter(case: Case) -> float:
    """d(p, r) ≤ d(p, q) + d(q, r)"""
    p, r, other = distributions(case, "p", "r", "other")
    kind = case.choice("q is", ("any", "between p and r", "p and then r"))
    half = torch.arange(p.shape[-1]) < p.shape[-1] / 2
    q = other if kind == "any" else 0.5 * (p + r) if kind == "between p and r" else torch.where(half, p, r)
    distance = _distance(case)
    return excess(distance(p, r), distance(p, q) + distance(q, r))


def _signed(p: Tensor, q: Tensor, order: float = 2.0) -> Tensor:
    return ((p - q) ** order).sum(-1) ** (1 / order)


@law("divergence.lp", wrong=_signed)
def of_order_1_it_is_twice_the_total_variation(case: Case) -> float:
    """d₁(p, q) = 2 max over A of |p(A) - q(A)|"""
    p, q = distributions(case, "p", "q")
    return difference(settled(case, order=case.choice("order", (1.0,)))(p, q), 2 * ours.total_variation(p, q))


@law("divergence.lp", wrong=lambda p, q, order=2.0: ((p - q).abs() ** order).sum(-1))
def a_multiple_is_a_multiple_as_far(case: Case) -> float:
    """d(ap, aq) = |a| d(p, q)"""
    p, q = distributions(case, "p", "q")
    a, distance = case.real("a", -3, 3), _distance(case)
    return difference(distance(a * p, a * q), abs(a) * distance(p, q))


@law("divergence.lp", wrong=lambda p, q, order=2.0: ((p - q).abs() ** order).mean(-1) ** (1 / order))
def higher_orders_are_shorter_but_not_by_much(case: Case) -> float:
    """d_∞ ≤ d_r ≤ d₁ ≤ n^(1 - 1/r) d_r"""
    (p, q), order = distributions(case, "p", "q"), case.real("order", 1, 4)
    apart, distance = (p - q).abs(), settled(case, order=order)(p, q)
    most = p.shape[-1] ** (1 - 1 / order) * distance
    return max(excess(apart.amax(-1), distance), excess(distance, apart.sum(-1)), excess(apart.sum(-1), most))


@law("divergence.jensen_shannon", wrong=lambda p, q: ours.kl(p, q) + ours.kl(q, p))
def it_is_log_2_for_distributions_with_nothing_in_common(case: Case) -> float:
    """0 ≤ JS(p, q) ≤ log 2, and log 2 if pᵢqᵢ = 0 for all i"""
    (p, q), js = distributions(case, "p", "q"), case.build()
    apart = js(torch.cat([p, torch.zeros_like(q)], -1), torch.cat([torch.zeros_like(p), q], -1))
    return max(excess(js(p, q), log(2)), excess(-js(p, q), 0.0), difference(apart, torch.full_like(apart, log(2))))


@law("divergence.jensen_shannon", wrong=lambda p, q: 0.5 * (ours.kl((p + q) / 2, p) + ours.kl((p + q) / 2, q)))
def it_is_the_entropy_that_mixing_adds(case: Case) -> float:
    """JS(p, q) = H(½p + ½q) - ½H(p) - ½H(q)"""
    p, q = (with_zeros(case, x, name) for x, name in zip(distributions(case, "p", "q"), "pq", strict=True))
    return difference(case.build()(p, q), ours.entropy((p + q) / 2) - 0.5 * (ours.entropy(p) + ours.entropy(q)))


@law("divergence.jensen_shannon", wrong=lambda p, q: ours.kl(p, q))
def it_is_at_most_the_total_variation_times_log_2(case: Case) -> float:
    """JS(p, q) ≤ log 2 · d(p, q)"""
    p, q = distributions(case, "p", "q")
    return excess(case.build()(p, q), log(2) * ours.total_variation(p, q))
