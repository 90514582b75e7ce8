"""What is known of entropies, divergences and distances of distributions."""

from collections.abc import Callable, Sequence
from itertools import product
from math import e, log
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, Normal, kl_divergence

from gradlab.nn import divergences as ours
from gradlab.nn.losses import gaussian_nll
from gradlab.scratch import divergences
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, conform, example, law, peer
from gradlab.verification.comparing import difference, excess, gradients
from gradlab.verification.incomparable import Incomparable


def distributions(case: Case, *names: str) -> list[Tensor]:
    """Distributions over as many outcomes, none of which is impossible."""
    shape = [*_batch(case), case.integer("outcomes", 1, 5)]
    return [case.distribution(name, *shape) for name in names]


def _batch(case: Case) -> list[int]:
    return case.sizes(3, (0, 2), count="batch axes")


def with_zeros(case: Case, *names: str, other: Sequence[str] = ()) -> list[Tensor]:
    """Distributions without some of the outcomes, and then others with all of them."""
    drawn = distributions(case, *names, *other)
    if case.subject.foreign:  # what 0 log 0 and its slope are is a convention
        return drawn
    kept = [p.detach() * case.mask(f"outcomes of {name}", *p.shape) for name, p in zip(names, drawn, strict=False)]
    return [*((p / p.sum(-1, keepdim=True)).requires_grad_() for p in kept), *drawn[len(names) :]]


def normals(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean and standard deviation of one, then of another."""
    shape = [*_batch(case), case.integer("dim", 1, 4)]
    mean, other_mean = case.tensor("mean", *shape), case.tensor("other_mean", *shape)
    return mean, case.positive("std", *shape), other_mean, case.positive("other_std", *shape)


def table(case: Case, zeros: bool = False) -> Tensor:
    """The probabilities of all pairs of a row and a column."""
    shape = [*_batch(case), case.integer("rows", 1, 4), case.integer("columns", 1, 4)]
    joint = case.tensor("scores", *shape).detach().flatten(-2).softmax(-1)
    if zeros:
        joint = joint * case.mask("possible", *joint.shape)
        joint = joint / joint.sum(-1, keepdim=True)
    return joint.reshape(shape).requires_grad_()


# Twins, peers and examples


def _of(draw: Callable[[Case], Any]) -> Draw:
    return lambda case: Call(case.build(), tuple(draw(case)))


def _pair(case: Case) -> list[Tensor]:
    return distributions(case, "p", "q")


def _pair_with_zeros(case: Case) -> list[Tensor]:
    """Zeros in q too, but where something is possible in p: there a divergence would be infinite."""
    if case.subject.foreign or not case.flag("zeros"):  # what 0 log 0 and its slope are is a convention
        return _pair(case)
    p, q = with_zeros(case, "p", other="q")
    return [p, (q.detach() * (p > 0)).requires_grad_()]


def _with_order(case: Case) -> Call:
    (p, q), order = _pair(case), case.real("order", 1, 4)
    p = (p + case.positive("excess", *p.shape)).detach().requires_grad_()  # a power has no slope at a difference of 0
    return Call(case.build(order=order), (p, q), options={"order": order})


def _with_any_order(case: Case) -> Call:
    (p, q), order = _pair(case), case.choice("order", (1.0, 2.0, 2.5, np.inf))
    return Call(case.build(order=order), (p.detach(), q.detach()), settings={"p": order, "eps": 0.0})


def _scipy(function: str) -> Callable[[Call], Tensor]:
    """The entropy of one, or the divergence of two, which is infinite at times."""

    def wanted(call: Call) -> Tensor:
        from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]
        from scipy.stats import entropy  # type: ignore[import-untyped]

        p, *q = (x.detach() for x in call.inputs)
        if function == "jensenshannon":
            return torch.as_tensor(jensenshannon(p, *q, axis=-1) ** 2)
        cross = entropy(p, axis=-1) if function == "cross_entropy" else 0.0
        return torch.as_tensor(cross + entropy(p, *q, axis=-1))

    return wanted


def _torchs_normals(call: Call) -> Tensor:
    mean, std, other_mean, other_std = call.inputs
    return kl_divergence(Normal(mean, std), Normal(other_mean, other_std)).sum(-1)


def _categorical(p: Tensor) -> Any:
    return Categorical(p.detach())


NAMES = ("cross_entropy", "kl", "total_variation", "jensen_shannon")
for _name in NAMES:
    conform(f"divergence.{_name}", _of(_pair_with_zeros), twin=getattr(divergences, _name))
conform(
    "divergence.kl",
    _of(_pair),
    peer={"torch.nn.KLDivLoss": lambda call: F.kl_div(call.inputs[1].log(), call.inputs[0], reduction="none").sum(-1)},
    fault=lambda p, q: (p * (p / q).log()).mean(-1),
)
conform(
    "divergence.kl",
    _of(lambda case: with_zeros(case, "p", other="q")),
    peer={"torch.distributions.kl_divergence": lambda call: kl_divergence(*map(_categorical, call.inputs))},
)
conform("divergence.kl", _of(lambda case: with_zeros(case, "p", "q")), peer={"scipy.stats.entropy": _scipy("kl")})
conform(
    "divergence.jensen_shannon",
    _of(lambda case: with_zeros(case, "p", "q")),
    peer={"scipy.spatial.distance.jensenshannon": _scipy("jensenshannon")},
    fault=lambda p, q: 0.5 * (ours.kl((p + q) / 2, p) + ours.kl((p + q) / 2, q)),
)
conform("divergence.cross_entropy", _of(_pair), peer={"scipy.stats.entropy": _scipy("cross_entropy")})
conform("divergence.lp", _with_order, twin=divergences.lp)
conform("divergence.lp", _with_any_order, peer=nn.PairwiseDistance)
conform(
    "divergence.entropy",
    _of(lambda case: with_zeros(case, "p") if case.flag("zeros") else distributions(case, "p")),
    twin=divergences.entropy,
)
conform(
    "divergence.entropy",
    _of(lambda case: distributions(case, "p")),
    peer={"torch.distributions.Categorical": lambda call: _categorical(call.inputs[0]).entropy()},
)
conform("divergence.entropy", _of(lambda case: with_zeros(case, "p")), peer={"scipy.stats.entropy": _scipy("entropy")})
conform(
    "divergence.kl_gaussian",
    _of(normals),
    twin=divergences.kl_gaussian,
    peer={"torch.distributions.kl_divergence": _torchs_normals},
)
conform(
    "divergence.kl_gaussian",
    lambda case: Call(case.build(), normals(case)[:2]),
    twin=divergences.kl_gaussian,
    twin_call=lambda mean, std: divergences.kl_gaussian(mean, std, 0.0 * mean, 0.0 * mean + 1.0),
    about="to the standard normal distribution",
)
conform(
    "divergence.mutual_information",
    lambda case: Call(case.build(), (table(case, case.flag("zeros")),)),
    twin=divergences.mutual_information,
)
conform("divergence.pmi", lambda case: Call(case.build(), (table(case),)), twin=divergences.pmi)


# Of those with a logarithm, what they take.
WITH_BASE: dict[str, Callable[[Case], Sequence[Tensor]]] = {
    "entropy": lambda case: distributions(case, "p"),
    "cross_entropy": _pair,
    "kl": _pair,
    "kl_gaussian": normals,
    "jensen_shannon": _pair,
    "mutual_information": lambda case: [table(case)],
    "pmi": lambda case: [table(case)],
}


def _in_base(case: Case) -> Call:
    inputs, base = WITH_BASE[case.subject.name.partition(".")[2]](case), case.choice("base", (2.0, 10.0, 1.5))
    return Call(case.build(base=base), inputs, options={"base": base})


for _name in WITH_BASE:
    conform(f"divergence.{_name}", _in_base, twin=getattr(divergences, _name), about="in bits and other units")


@peer("divergence.mutual_information", "scikit-learn mutual_info_score")
def mutual_information_of_scikit_learn(case: Case) -> float:
    from sklearn.metrics import mutual_info_score

    rows, columns = case.integer("rows", 1, 4), case.integer("columns", 1, 4)
    row, column = case.indices("row", 20, below=rows), case.indices("column", 20, below=columns)
    counts = torch.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns).double()
    wanted = mutual_info_score(row.numpy(), column.numpy())
    return difference(case.build()(counts / 20), torch.as_tensor(wanted, dtype=torch.float64))


EXAMPLES: dict[str, Callable[[int], tuple[Any, ...]]] = {
    **dict.fromkeys(NAMES, lambda n: (torch.linspace(1, 3, n) / (2 * n), torch.linspace(5, 1, n) / (3 * n))),
    "lp": lambda n: (torch.linspace(0, 1, n), torch.linspace(0.5, 0, n)),
    "entropy": lambda n: (torch.linspace(1, 3, n) / (2 * n),),
    "kl_gaussian": lambda n: (torch.linspace(-1, 2, n), torch.linspace(0.5, 2, n), torch.zeros(n), torch.ones(n)),
}
for _name, _inputs in EXAMPLES.items():
    example(f"divergence.{_name}", call=lambda n, inputs=_inputs: ({}, inputs(n)), n=4)
example(
    "divergence.mutual_information",
    "divergence.pmi",
    call=lambda n, d: ({}, (torch.tensor([[5.0, 1.0, 2.0], [1.0, 6.0, 1.0]]) / 16,)),
    n=2,
    d=3,
)

# Laws of entropy and information


def _always_nats(name: str) -> Callable[..., Tensor]:
    nats: Callable[..., Tensor] = getattr(ours, name)
    return lambda *inputs, base=e: nats(*inputs)


@law(*(f"divergence.{name}" for name in WITH_BASE), fault={f"divergence.{n}": _always_nats(n) for n in WITH_BASE})
def another_base_is_another_unit(case: Case) -> float:
    """in base b = in nats / log b"""
    inputs = WITH_BASE[case.subject.name.partition(".")[2]](case)
    base = case.choice("base", (2.0, 10.0, 1.5))
    return difference(log(base) * case.build(base=base)(*inputs), case.build()(*inputs))


def _mean_of_terms(p: Tensor) -> Tensor:
    return -(p * p.log()).mean(-1)


@law("divergence.entropy", fault=[lambda p: ours.entropy(p) / log(2), _mean_of_terms], id="entropy-bounds")
def it_is_between_0_and_the_log_of_the_number_of_outcomes(case: Case) -> float:
    """0 ≤ H(p) ≤ log n = H(1/n, …, 1/n): equal probabilities have the most"""
    (p,), entropy = distributions(case, "p"), case.build()
    most = torch.full_like(p[..., 0], log(p.shape[-1]))
    equal = difference(entropy(torch.full_like(p, 1 / p.shape[-1])), most)
    return max(excess(-entropy(p), 0.0), excess(entropy(p), most), equal)


@law("divergence.entropy", fault=[_mean_of_terms, lambda p: -(p * p.log()).sum(-1)], id="joint-entropy")
def a_copy_adds_nothing_and_an_independent_variable_adds_its_own(case: Case) -> float:
    """H(X, X) = H(X), and H(X, Y) = H(X) + H(Y) for independent X, Y"""
    (p, q), entropy = _pair(case), case.build()
    copy, independent = torch.diag_embed(p).flatten(-2), (p[..., :, None] * q[..., None, :]).flatten(-2)
    return difference((entropy(copy), entropy(independent)), (entropy(p), entropy(p) + entropy(q)))


@law("divergence.entropy", fault=lambda p: (p * p.log()).sum(-1), id="xlogx-convex")
def mixing_does_not_lower_it(case: Case) -> float:
    """H(λp + (1-λ)q) ≥ λH(p) + (1-λ)H(q): x log x is convex"""
    (p, q), share, entropy = _pair(case), case.real("λ", 0, 1), case.build()
    return excess(share * entropy(p) + (1 - share) * entropy(q), entropy(share * p + (1 - share) * q))


@law("divergence.entropy", fault=_mean_of_terms, id="joint-entropy")
def that_of_two_variables_is_between_the_larger_and_the_sum(case: Case) -> float:
    """max(H(X), H(Y)) ≤ H(X, Y) ≤ H(X) + H(Y)"""
    joint, entropy = table(case), case.build()
    both, row, column = entropy(joint.flatten(-2)), entropy(joint.sum(-1)), entropy(joint.sum(-2))
    return max(excess(torch.maximum(row, column), both), excess(both, row + column))


@law("divergence.entropy", fault=lambda p: 1 - (p**2).sum(-1), id="conditional-entropy")
def that_of_two_variables_is_that_of_one_and_of_the_other_given_it(case: Case) -> float:
    """H(X, Y) = H(X) + Σ_x p(x) H(Y | X = x)"""
    joint, entropy = table(case, zeros=True), case.build()
    row = joint.sum(-1)
    conditional = torch.where(row > 0, row * entropy(joint / row.clamp(min=1e-300)[..., None]), 0.0).sum(-1)
    return difference(entropy(joint.flatten(-2)), entropy(row) + conditional)


@law("divergence.entropy", fault=lambda p: ours.entropy(p) - 0.5 * (p**2).sum(-1), id="xlogx-convex")
def its_second_derivative_is_minus_the_reciprocal(case: Case) -> float:
    """∂²H/∂pᵢ² = -1/pᵢ"""
    (p,) = distributions(case, "p")
    (slope,) = torch.autograd.grad(case.build()(p).sum(), p, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), p)
    return difference(bend, -1 / p)


@law("divergence.cross_entropy", fault=lambda p, q: ours.cross_entropy(q, p), id="cross-entropy-law")
def it_is_the_entropy_plus_the_divergence(case: Case) -> float:
    """H(p, q) = H(p) + KL(p‖q)"""
    p, q = _pair(case)
    return difference(case.build()(p, q), ours.entropy(p) + ours.kl(p, q))


@law(
    "divergence.cross_entropy",
    fault=lambda p, q: ours.cross_entropy(q, p),
    id=("gibbs-inequality", "cross-entropy-law"),
)
def no_belief_surprises_less_than_the_truth(case: Case) -> float:
    """H(p, q) ≥ H(p, p) = H(p): Gibbs"""
    (p, q), cross = _pair(case), case.build()
    return max(excess(ours.entropy(p), cross(p, q)), difference(cross(p, p), ours.entropy(p)))


@law("divergence.cross_entropy", fault=lambda p, q: ours.cross_entropy(q, p))
def a_certain_outcome_costs_its_surprise(case: Case) -> float:
    """H(eᵢ, q) = -log qᵢ"""
    (q,) = distributions(case, "q")
    costs = [case.build()(certain.expand_as(q), q) for certain in torch.eye(q.shape[-1], dtype=q.dtype)]
    return difference(torch.stack(costs, -1), -q.log())


def _means_of_rows_and_columns(joint: Tensor) -> Tensor:
    row, column = joint.sum(-1, keepdim=True), joint.sum(-2, keepdim=True)
    return (row * column * joint * ours.pmi(joint)).sum((-2, -1))


@law("divergence.mutual_information", fault=_means_of_rows_and_columns, id="mutual-information")
def it_is_the_entropies_less_that_of_the_pair(case: Case) -> float:
    """I = H(X) + H(Y) - H(X, Y) = H(X, Y) - H(Y|X) - H(X|Y)"""
    joint = table(case, zeros=True)
    row, column, both = (ours.entropy(x) for x in (joint.sum(-1), joint.sum(-2), joint.flatten(-2)))
    information = case.build()(joint)
    return difference((information, information), (row + column - both, both - (both - row) - (both - column)))


@law("divergence.mutual_information", fault=_means_of_rows_and_columns, id=("mutual-information", "kl-mi-identities"))
def it_is_the_divergence_from_independence(case: Case) -> float:
    """I = KL(P_XY‖P_X P_Y) = E_X KL(P(Y|X)‖P(Y)) = E_Y KL(P(X|Y)‖P(X))"""
    joint = table(case)
    row, column = joint.sum(-1, keepdim=True), joint.sum(-2, keepdim=True)
    by_row = (row.squeeze(-1) * ours.kl(joint / row, column.expand_as(joint))).sum(-1)
    by_column = (column.squeeze(-2) * ours.kl((joint / column).mT, row.expand_as(joint).mT)).sum(-1)
    information = case.build()(joint)
    return difference((information,) * 3, (ours.kl(joint.flatten(-2), (row * column).flatten(-2)), by_row, by_column))


@law(
    "divergence.mutual_information",
    fault=lambda joint: ours.entropy(joint.flatten(-2)) - ours.entropy(joint.sum(-1)),
    id="mutual-information",
)
def each_tells_as_much_of_the_other(case: Case) -> float:
    """I(X, Y) = I(Y, X)"""
    joint, information = table(case, zeros=True), case.build()
    return difference(information(joint), information(joint.mT))


@law("divergence.mutual_information", fault=lambda joint: ours.entropy(joint.flatten(-2)), id="mutual-information")
def independent_variables_tell_nothing_and_others_something(case: Case) -> float:
    """I ≥ 0, and 0 if p(x, y) = p(x) p(y)"""
    joint, information = table(case), case.build()
    independent = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    return max(excess(-information(joint), 0.0), float(information(independent).abs().max()))


@law("divergence.mutual_information", fault=_means_of_rows_and_columns, id="mutual-information")
def a_renamed_copy_tells_everything(case: Case) -> float:
    """I(X, f(X)) = H(X) for an invertible f"""
    (p,) = distributions(case, "p")
    copy = torch.diag_embed(p)[..., case.permutation("f", p.shape[-1])]
    return difference(case.build()(copy), ours.entropy(p))


@law(
    "divergence.pmi",
    fault=[lambda joint: joint.log() - joint.sum(-1, keepdim=True).log(), lambda joint: ours.pmi(joint).abs()],
)
def its_mean_is_the_mutual_information(case: Case) -> float:
    """E_XY pmi = I"""
    joint = table(case)
    return difference((joint * case.build()(joint)).sum((-2, -1)), ours.mutual_information(joint))


@law("divergence.pmi", fault=lambda joint: ours.pmi(joint + 1e-9))
def a_pair_that_never_occurs_has_minus_infinity(case: Case) -> float:
    """pmi(x, y) = -∞ if p(x, y) = 0"""
    joint = table(case, zeros=True)
    return float((case.build()(joint)[joint == 0] != -torch.inf).sum())


# Laws of divergences


def _kl_by_ratio(p: Tensor, q: Tensor) -> Tensor:
    terms: Tensor = torch.special.xlogy(p, p / q)
    return terms.sum(-1)


ZEROS = {
    "divergence.entropy": lambda p: torch.special.entr(p).sum(-1),
    "divergence.cross_entropy": lambda p, q: -torch.special.xlogy(p, q).sum(-1),
    "divergence.kl": _kl_by_ratio,
    "divergence.jensen_shannon": lambda p, q: 0.5 * (_kl_by_ratio(p, (p + q) / 2) + _kl_by_ratio(q, (p + q) / 2)),
}


@law(*ZEROS, fault=ZEROS)
def slopes_are_finite_at_impossible_outcomes(case: Case) -> float:
    """value and slope are finite where p = 0, and where p = q = 0"""
    if case.subject.foreign:
        raise Incomparable("what an impossible outcome costs is a convention, which others do not have")
    drawn = _pair(case)[: 1 if case.subject.name == "divergence.entropy" else 2]
    leaves = [torch.cat([x.detach(), torch.zeros_like(x[..., :1])], -1).requires_grad_() for x in drawn]
    value = case.build()(*leaves)
    return float(sum((~x.isfinite()).sum() for x in (value, *gradients(value, leaves))))


@law("divergence.kl", "divergence.cross_entropy", id="onehot-p-slot", fault=lambda p, q: ours.kl(p, q + 1e-9))
def it_is_infinite_where_something_happens_that_was_held_impossible(case: Case) -> float:
    """= ∞ if pᵢ > 0 = qᵢ for some i: a one-hot q costs an infinity for every p but itself"""
    if case.subject.foreign:
        raise Incomparable("what an impossible outcome costs is a convention, which others do not have")
    p = case.distribution("p", case.integer("batch", 1, 3), case.integer("outcomes", 2, 5))
    certain, divergence = torch.eye(p.shape[-1], dtype=p.dtype)[-1].expand_as(p), case.build()
    return float((divergence(p, certain) != torch.inf).sum() + divergence(certain, certain).abs().max())


@law("divergence.kl", fault=ours.cross_entropy, id="kl-nonnegative")
def it_is_not_negative_and_0_for_equals(case: Case) -> float:
    """KL(p‖q) ≥ 0 = KL(p‖p)"""
    (p, q), kl = _pair(case), case.build()
    return max(excess(-kl(p, q), 0.0), float(kl(p, p).abs().max()))


@law("divergence.kl", fault=lambda p, q: ours.kl(p, q) + ours.kl(q, p), id="kl-nonnegative")
def exchanging_the_two_gives_another_number(case: Case) -> float:
    """KL(p‖q) < ∞ = KL(q‖p), if fewer outcomes are possible in p than in q"""
    q, kl = case.distribution("q", case.integer("outcomes", 2, 5)), case.build()
    p = torch.cat([torch.zeros_like(q[:1]), q[1:] / q[1:].sum()])
    return float(kl(q, p) != torch.inf) + float(not kl(p, q).isfinite())


@law(
    "divergence.kl",
    fault=lambda p, q: (p * (p / q).log() * torch.arange(1, p.shape[-1] + 1)).sum(-1),
    id="kl-diffeo-invariance",
)
def other_names_for_the_outcomes_change_nothing(case: Case) -> float:
    """KL(Ψp‖Ψq) = KL(p‖q) for a permutation Ψ"""
    (p, q), kl = _pair(case), case.build()
    order = case.permutation("Ψ", p.shape[-1])
    return difference(kl(p[..., order], q[..., order]), kl(p, q))


@law("divergence.kl", fault=ours.cross_entropy, id="kl-joint-convexity")
def mixtures_are_no_further_apart_than_their_parts(case: Case) -> float:
    """KL(λp + (1-λ)p'‖λq + (1-λ)q') ≤ λKL(p‖q) + (1-λ)KL(p'‖q')"""
    p, q, other_p, other_q = distributions(case, "p", "q", "p'", "q'")
    share, kl = case.real("λ", 0, 1), case.build()
    mixed = kl(share * p + (1 - share) * other_p, share * q + (1 - share) * other_q)
    return excess(mixed, share * kl(p, q) + (1 - share) * kl(other_p, other_q))


@law(*(f"divergence.{name}" for name in NAMES[1:]), fault=lambda p, q: ((p - q) ** 2).sum(-1))
def who_sees_less_finds_them_no_further_apart(case: Case) -> float:
    """d(Kp, Kq) ≤ d(p, q), where K makes one outcome of two, after giving them other names"""
    p, q = _pair(case)
    order, divergence = case.permutation("names", p.shape[-1]), case.build()
    coarse = (torch.cat([x[..., :2].sum(-1, keepdim=True), x[..., 2:]], -1) for x in (p[..., order], q[..., order]))
    return excess(divergence(*coarse), divergence(p, q))


def _printed(mean: Tensor, std: Tensor, *other: Tensor) -> Tensor:
    return 0.5 * ((std**2).log() + std**2 + mean**2 - 1).sum(-1)


@law("divergence.kl_gaussian", fault=_printed)
def it_is_not_negative_and_0_for_equal_ones(case: Case) -> float:
    """KL(N‖M) ≥ 0 = KL(N‖N)"""
    (mean, std, *other), kl = normals(case), case.build()
    return max(excess(-kl(mean, std, *other), 0.0), float(kl(mean, std, mean, std).abs().max()))


@law("divergence.kl_gaussian", fault=_printed, id="kl-diffeo-invariance")
def other_units_change_nothing(case: Case) -> float:
    """KL(ΨN‖ΨM) = KL(N‖M) for Ψ(x) = ax + b"""
    (mean, std, other_mean, other_std), kl = normals(case), case.build()
    a, b = case.tensor("a", mean.shape[-1], away_from=(0.0,)), case.tensor("b", mean.shape[-1])
    changed = kl(a * mean + b, a.abs() * std, a * other_mean + b, a.abs() * other_std)
    return difference(changed, kl(mean, std, other_mean, other_std))


@law("divergence.kl_gaussian", fault=_printed, id="gaussian-kl-closed-form")
def one_std_counts_once_for_each_dimension(case: Case) -> float:
    """KL(N(μ, σ²I)‖N(0, I)) = ½(dσ² + ‖μ‖² - d - d log σ²)"""
    mean, std, *_ = normals(case)
    std, d = std[..., :1], mean.shape[-1]
    wanted = 0.5 * (d * std.square() - d - d * std.square().log()).squeeze(-1) + 0.5 * mean.square().sum(-1)
    return difference(case.build()(mean, std), wanted)


@law("divergence.kl_gaussian", fault=lambda mean, std, m, s: ours.kl_gaussian(m, s, mean, std))
def it_is_the_mean_of_the_difference_of_log_densities(case: Case) -> float:
    """KL(N‖M) = E_{x~N} [log N(x) - log M(x)], by Gauss and Hermite's quadrature"""
    mean, std, other_mean, other_std = normals(case)
    nodes, weights = (torch.from_numpy(x) for x in np.polynomial.hermite_e.hermegauss(4))
    x = mean + std * nodes.reshape(-1, *[1] * mean.ndim)
    other, own = (
        gaussian_nll(m.expand_as(x), x, s, reduction="none") for m, s in ((other_mean, other_std), (mean, std))
    )
    wanted = torch.tensordot(weights / weights.sum(), (other - own).sum(-1), 1)
    return difference(case.build()(mean, std, other_mean, other_std), wanted)


# Laws of distances


def _l1(p: Tensor, q: Tensor) -> Tensor:
    return (p - q).abs().sum(-1)


@law("divergence.total_variation", fault=_l1, id="total-variation")
def it_is_the_largest_difference_over_all_events(case: Case) -> float:
    """d(p, q) = max over A of |p(A) - q(A)|, the outcomes with pᵢ ≥ qᵢ being such an A"""
    p, q = _pair(case)
    events = torch.tensor(list(product((0.0, 1.0), repeat=p.shape[-1])), dtype=torch.float64)
    distance, attained = case.build()(p, q), torch.where(p >= q, p - q, 0.0).sum(-1)
    return difference((distance, distance), (((p - q) @ events.T).abs().amax(-1), attained))


@law("divergence.total_variation", fault=_l1)
def its_square_is_at_most_half_the_divergence(case: Case) -> float:
    """d(p, q)² ≤ ½ KL(p‖q): Pinsker"""
    p, q = _pair(case)
    return excess(case.build()(p, q) ** 2, 0.5 * ours.kl(p, q))


def _distance(case: Case) -> Callable[[Tensor, Tensor], Tensor]:
    """The block as a distance: of Jensen and Shannon's divergence, the root is one."""
    if case.subject.name == "divergence.lp":
        distance: Callable[[Tensor, Tensor], Tensor] = case.build(order=case.real("order", 1, 4))
        return distance
    block: Callable[[Tensor, Tensor], Tensor] = case.build()
    return (lambda p, q: block(p, q).clamp(min=0).sqrt()) if "jensen" in case.subject.name else block


DETOURS: dict[str, Callable[..., Tensor]] = {
    "divergence.total_variation": lambda p, q: ((p - q) ** 2).sum(-1),
    "divergence.lp": lambda p, q, order=2.0: ((p - q).abs() ** 0.5).sum(-1) ** 2,
    "divergence.jensen_shannon": lambda p, q: ours.jensen_shannon(p, q) ** 2,
}


def _kl_of_any_order(p: Tensor, q: Tensor, order: float = 2.0) -> Tensor:
    return ours.kl(p, q)


@law("divergence.jensen_shannon", fault=_kl_of_any_order)
@law("divergence.lp", fault=_kl_of_any_order, id="lp-distance")
@law("divergence.total_variation", fault=_kl_of_any_order, id="total-variation")
def the_distance_back_is_the_same_and_0_to_itself(case: Case) -> float:
    """d(p, q) = d(q, p) ≥ 0 = d(p, p)"""
    (p, q), distance = _pair(case), _distance(case)
    there, back = distance(p, q), distance(q, p)
    return max(difference(there, back), excess(-there, 0.0), float(distance(p, p).abs().max()))


@law("divergence.jensen_shannon", fault=DETOURS)
@law("divergence.lp", fault=DETOURS, id="lp-distance")
@law("divergence.total_variation", fault=DETOURS, id="total-variation")
def a_detour_is_no_shorter(case: Case) -> float:
    """d(p, r) ≤ d(p, q) + d(q, r)"""
    p, r, other = distributions(case, "p", "r", "other")
    kind = case.choice("q is", ("any", "between p and r", "p and then r"))
    half = torch.arange(p.shape[-1]) < p.shape[-1] / 2
    q = other if kind == "any" else 0.5 * (p + r) if kind == "between p and r" else torch.where(half, p, r)
    distance = _distance(case)
    return excess(distance(p, r), distance(p, q) + distance(q, r))


@law("divergence.lp", fault=lambda p, q, order=2.0: ((p - q).abs() ** order).sum(-1), id="lp-distance")
def a_multiple_is_a_multiple_as_far(case: Case) -> float:
    """d(ap, aq) = |a| d(p, q)"""
    (p, q), a, distance = _pair(case), case.real("a", -3, 3), _distance(case)
    return difference(distance(a * p, a * q), abs(a) * distance(p, q))


@law("divergence.lp", fault=lambda p, q, order=2.0: ((p - q).abs() ** order).mean(-1) ** (1 / order), id="lp-distance")
def higher_orders_are_shorter_but_not_by_much(case: Case) -> float:
    """d_∞ ≤ d_r ≤ d₁ ≤ n^(1 - 1/r) d_r"""
    (p, q), order = _pair(case), case.real("order", 1, 4)
    apart, distance = (p - q).abs(), case.build(order=order)(p, q)
    most = p.shape[-1] ** (1 - 1 / order) * distance
    return max(excess(apart.amax(-1), distance), excess(distance, apart.sum(-1)), excess(apart.sum(-1), most))


@law("divergence.lp", fault=lambda p, q, order=2.0: ((p - q) ** order).sum(-1) ** (1 / order), id="lp-distance")
def of_order_1_it_is_twice_the_total_variation(case: Case) -> float:
    """d₁(p, q) = 2 max over A of |p(A) - q(A)|"""
    p, q = _pair(case)
    return difference(case.build(order=case.choice("order", (1.0,)))(p, q), 2 * ours.total_variation(p, q))


@law("divergence.jensen_shannon", fault=[lambda p, q: ours.kl(p, q) + ours.kl(q, p), lambda p, q: ours.kl(p, q)])
def it_is_log_2_for_distributions_with_nothing_in_common(case: Case) -> float:
    """0 ≤ JS(p, q) ≤ log 2, and log 2 if pᵢqᵢ = 0 for all i"""
    (p, q), js = _pair(case), case.build()
    apart = js(torch.cat([p, torch.zeros_like(q)], -1), torch.cat([torch.zeros_like(p), q], -1))
    return max(excess(js(p, q), log(2)), excess(-js(p, q), 0.0), difference(apart, torch.full_like(apart, log(2))))
