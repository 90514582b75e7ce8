"""Laws of entropy, cross-entropy and mutual information. Each comes with a version that breaks it."""

from math import log

import torch
from torch import Tensor

from gradlab.nn import divergences as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.divergences.divergences import distributions, table, together


def _in_bits(p: Tensor) -> Tensor:
    return ours.entropy(p) / log(2)


def _mean_of_terms(p: Tensor) -> Tensor:
    return -(p * p.log()).mean(-1)


@law("divergence.entropy", wrong=_in_bits)
def it_is_between_0_and_the_log_of_the_number_of_outcomes(case: Case) -> float:
    """0 ≤ H(p) ≤ log n"""
    (p,) = distributions(case, "p")
    entropy = case.build()(p)
    return max(excess(-entropy, 0.0), excess(entropy, log(p.shape[-1])))


@law("divergence.entropy", wrong=_mean_of_terms)
def equal_probabilities_have_the_most(case: Case) -> float:
    """H(1/n, …, 1/n) = log n"""
    (p,) = distributions(case, "p")
    n = p.shape[-1]
    return difference(case.build()(torch.full_like(p, 1 / n)), torch.full(p.shape[:-1], log(n), dtype=torch.float64))


@law("divergence.entropy", wrong=_mean_of_terms)
def that_of_independent_variables_adds_up(case: Case) -> float:
    """H(X, Y) = H(X) + H(Y) for independent X, Y"""
    p, q = distributions(case, "p", "q")
    entropy = case.build()
    return difference(entropy(together(p, q)), entropy(p) + entropy(q))


@law("divergence.entropy", wrong=_mean_of_terms)
def that_of_two_variables_is_between_the_larger_and_the_sum(case: Case) -> float:
    """max(H(X), H(Y)) ≤ H(X, Y) ≤ H(X) + H(Y)"""
    joint, entropy = table(case), case.build()
    both, row, column = entropy(joint.flatten(-2)), entropy(joint.sum(-1)), entropy(joint.sum(-2))
    return max(excess(torch.maximum(row, column), both), excess(both, row + column))


@law("divergence.entropy", wrong=lambda p: -(p * p.log()).sum(-1))
def a_copy_adds_nothing(case: Case) -> float:
    """H(X, X) = H(X)"""
    (p,), entropy = distributions(case, "p"), case.build()
    return difference(entropy(torch.diag_embed(p).flatten(-2)), entropy(p))


@law("divergence.entropy", wrong=lambda p: 1 - (p**2).sum(-1))
def that_of_two_variables_is_that_of_one_and_of_the_other_given_it(case: Case) -> float:
    """H(X, Y) = H(X) + Σ_x p(x) H(Y | X = x)"""
    joint, entropy = table(case), case.build()
    row = joint.sum(-1)
    given = (row * entropy(joint / row[..., None])).sum(-1)
    return difference(entropy(joint.flatten(-2)), entropy(row) + given)


@law("divergence.entropy", wrong=lambda p: (p * p.log()).sum(-1))
def mixing_does_not_lower_it(case: Case) -> float:
    """H(λp + (1-λ)q) ≥ λH(p) + (1-λ)H(q): x log x is convex"""
    (p, q), share, entropy = distributions(case, "p", "q"), case.real("λ", 0, 1), case.build()
    return excess(share * entropy(p) + (1 - share) * entropy(q), entropy(share * p + (1 - share) * q))


@law("divergence.entropy", wrong=lambda p: ours.entropy(p) - 0.5 * (p**2).sum(-1))
def its_second_derivative_is_minus_the_reciprocal(case: Case) -> float:
    """∂²H/∂pᵢ² = -1/pᵢ"""
    (p,) = distributions(case, "p")
    (slope,) = torch.autograd.grad(case.build()(p).sum(), p, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), p)
    return difference(bend, -1 / p)


# Cross-entropy


def _swapped(p: Tensor, q: Tensor) -> Tensor:
    return ours.cross_entropy(q, p)


@law("divergence.cross_entropy", wrong=_swapped)
def it_is_the_entropy_plus_the_divergence(case: Case) -> float:
    """H(p, q) = H(p) + KL(p‖q)"""
    p, q = distributions(case, "p", "q")
    return difference(case.build()(p, q), ours.entropy(p) + ours.kl(p, q))


@law("divergence.cross_entropy", wrong=_swapped)
def no_belief_surprises_less_than_the_truth(case: Case) -> float:
    """H(p, q) ≥ H(p, p) = H(p): Gibbs"""
    (p, q), cross = distributions(case, "p", "q"), case.build()
    return max(excess(ours.entropy(p), cross(p, q)), difference(cross(p, p), ours.entropy(p)))


@law("divergence.cross_entropy", wrong=_swapped)
def a_certain_outcome_costs_its_surprise(case: Case) -> float:
    """H(eᵢ, q) = -log qᵢ"""
    (q,) = distributions(case, "q")
    outcome = case.integer("i", 0, q.shape[-1] - 1)
    certain = torch.zeros_like(q)
    certain[..., outcome] = 1
    return difference(case.build()(certain, q), -q[..., outcome].log())


# Two variables


def _means_of_rows_and_columns(joint: Tensor) -> Tensor:
    row, column = joint.sum(-1, keepdim=True), joint.sum(-2, keepdim=True)
    return (row * column * joint * ours.pmi(joint)).sum((-2, -1))


@law("divergence.mutual_information", wrong=_means_of_rows_and_columns)
def it_is_the_entropies_less_that_of_the_pair(case: Case) -> float:
    """I = H(X) + H(Y) - H(X, Y) = H(X, Y) - H(Y|X) - H(X|Y)"""
    joint = table(case, zeros=True)
    row, column, both = (ours.entropy(x) for x in (joint.sum(-1), joint.sum(-2), joint.flatten(-2)))
    information = case.build()(joint)
    return difference((information, information), (row + column - both, both - (both - row) - (both - column)))


@law("divergence.mutual_information", wrong=_means_of_rows_and_columns)
def it_is_the_divergence_from_independence(case: Case) -> float:
    """I = KL(P_XY‖P_X P_Y) = E_X KL(P(Y|X)‖P(Y)) = E_Y KL(P(X|Y)‖P(X))"""
    joint = table(case)
    row, column = joint.sum(-1, keepdim=True), joint.sum(-2, keepdim=True)
    by_row = (row.squeeze(-1) * ours.kl(joint / row, column.expand_as(joint))).sum(-1)
    by_column = (column.squeeze(-2) * ours.kl((joint / column).mT, row.expand_as(joint).mT)).sum(-1)
    information = case.build()(joint)
    return difference((information,) * 3, (ours.kl(joint.flatten(-2), (row * column).flatten(-2)), by_row, by_column))


@law("divergence.mutual_information", wrong=lambda joint: ours.entropy(joint.flatten(-2)) - ours.entropy(joint.sum(-1)))
def each_tells_as_much_of_the_other(case: Case) -> float:
    """I(X, Y) = I(Y, X)"""
    joint, information = table(case, zeros=True), case.build()
    return difference(information(joint), information(joint.mT))


@law("divergence.mutual_information", wrong=lambda joint: ours.entropy(joint.flatten(-2)))
def independent_variables_tell_nothing_and_others_something(case: Case) -> float:
    """I ≥ 0, and 0 if p(x, y) = p(x) p(y)"""
    joint, information = table(case), case.build()
    independent = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    return max(excess(-information(joint), 0.0), float(information(independent).abs().max()))


@law("divergence.mutual_information", wrong=_means_of_rows_and_columns)
def a_renamed_copy_tells_everything(case: Case) -> float:
    """I(X, f(X)) = H(X) for an invertible f"""
    (p,) = distributions(case, "p")
    copy = torch.diag_embed(p)[..., case.permutation("f", p.shape[-1])]
    return difference(case.build()(copy), ours.entropy(p))


@law("divergence.pmi", wrong=lambda joint: joint.log() - joint.sum(-1, keepdim=True).log())
def its_mean_is_the_mutual_information(case: Case) -> float:
    """E_XY pmi = I"""
    joint = table(case)
    return difference((joint * case.build()(joint)).sum((-2, -1)), ours.mutual_information(joint))


@law("divergence.pmi", wrong=lambda joint: ours.pmi(joint).abs())
def by_chance_it_is_not_positive_on_average(case: Case) -> float:
    """Σ p(x) p(y) pmi(x, y) ≤ 0: where pairs are more frequent than by chance, others are rarer"""
    joint = table(case)
    chance = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    return excess((chance * case.build()(joint)).sum((-2, -1)), 0.0)


@law("divergence.pmi", wrong=lambda joint: ours.pmi(joint + 1e-9))
def a_pair_that_never_occurs_has_minus_infinity(case: Case) -> float:
    """pmi(x, y) = -∞ if p(x, y) = 0"""
    joint = table(case, zeros=True)
    return float((case.build()(joint)[joint == 0] != -torch.inf).sum())
