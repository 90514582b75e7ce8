"""What is known of entropies and information, of estimates of them from samples, and of codes."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths import information as ours
from gradlab.nn import divergences
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.families.divergences import distributions, table
from gradlab.verification.subject import subject

for _function in (
    ours.surprise,
    ours.joint_entropy,
    ours.conditional_entropy,
    ours.mutual_information,
    ours.entropy_estimate,
    ours.mutual_information_estimate,
    ours.huffman,
):
    subject(f"maths.{_function.__name__}")(_function)


@law("maths.surprise", fault=lambda p, base=math.e: 1 - p)
def surprises_of_independent_outcomes_add_up(case: Case) -> float:
    """s(p q) = s(p) + s(q), and s(½) = 1 bit"""
    (p, q), surprise = distributions(case, "p", "q"), case.build(base=2.0)
    coin = surprise(torch.tensor(0.5, dtype=torch.float64))
    return difference((surprise(p * q), coin), (surprise(p) + surprise(q), torch.ones_like(coin)))


@law("maths.joint_entropy", id="joint-entropy", fault=lambda joint: ours.entropy(joint.sum(-1)))
def two_variables_hold_no_more_than_both_and_no_less_than_either(case: Case) -> float:
    """max(H(X), H(Y)) ≤ H(X, Y) ≤ H(X) + H(Y), which is H(X, Y) if X and Y are independent; H(X, X) = H(X)"""
    joint, entropy = table(case, zeros=True), case.build()
    (rows, columns), both = [joint.sum(axis) for axis in (-1, -2)], entropy(joint)
    of_rows, of_columns = divergences.entropy(rows), divergences.entropy(columns)
    independent = entropy(rows[..., :, None] * columns[..., None, :])
    apart = difference((independent, entropy(torch.diag_embed(rows))), (of_rows + of_columns, of_rows))
    return max(excess(torch.maximum(of_rows, of_columns), both), excess(both, of_rows + of_columns), apart)


def _given_the_other(joint: Tensor, given: str = "rows") -> Tensor:
    result: Tensor = ours.conditional_entropy(joint, given="columns" if given == "rows" else "rows")
    return result


@law("maths.conditional_entropy", id="conditional-entropy", fault=_given_the_other)
def it_is_what_the_pair_holds_beyond_what_is_known(case: Case) -> float:
    """H(Y|X) = H(X, Y) - H(X), and H(X|Y) = H(X, Y) - H(Y)"""
    joint, given = table(case, zeros=True), case.choice("given", ("rows", "columns"))
    known = joint.sum(-1 if given == "rows" else -2)
    wanted = divergences.entropy(joint.flatten(-2)) - divergences.entropy(known)
    return difference(case.build(given=given)(joint), wanted)


def _printed(joint: Tensor, form: str = "divergence") -> Tensor:
    """The mean over rows and columns as if they were independent, with p(x, y) once more."""
    product = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    return (product * joint * divergences.pmi(joint)).sum((-2, -1))


@law("maths.mutual_information", id="mutual-information", fault=_printed)
def three_forms_are_one(case: Case) -> float:
    """I = KL(P_XY‖P_X P_Y) = H(X) + H(Y) - H(X, Y) = H(Y) - H(Y|X), and is at least 0"""
    joint = table(case)
    forms = [case.build(form=form)(joint) for form in ("divergence", "entropies", "conditional")]
    rows, columns = joint.sum(-1, keepdim=True), joint.sum(-2, keepdim=True)
    wanted = divergences.kl(joint.flatten(-2), (rows * columns).flatten(-2))
    return max(difference(tuple(forms), (wanted,) * 3), excess(-forms[0], 0.0))


# Estimates


def _labels(case: Case, *names: str) -> list[Tensor]:
    number = case.integer("samples", 2, 60)
    return [case.indices(name, number, below=case.integer(f"outcomes of {name}", 1, 5)) for name in names]


@peer("maths.mutual_information_estimate", "sklearn.metrics.mutual_info_score")
def score_of_scikit_learn(case: Case) -> float:
    from sklearn.metrics import mutual_info_score

    x, y = _labels(case, "x", "y")
    got = case.build(correct=False)(x, y).value
    return abs(float(got) - float(mutual_info_score(x.numpy(), y.numpy())))


@peer("maths.entropy_estimate", "scipy.stats.entropy")
def entropy_of_scipy(case: Case) -> float:
    from scipy.stats import entropy  # type: ignore[import-untyped]

    (x,) = _labels(case, "x")
    got = case.build(correct=False, base=2.0)(x).value
    return abs(float(got) - float(entropy(np.unique(x.numpy(), return_counts=True)[1], base=2)))


def _of_all_samples(p: Sequence[float], number: int, estimate: Callable[[list[int]], float]) -> float:
    """The mean of an estimate over all samples of a size: exactly, without luck."""
    samples = product(range(len(p)), repeat=number)
    return sum(math.prod(p[i] for i in sample) * estimate([*sample]) for sample in samples)


def _no_correction(samples: Any, correct: bool = True) -> ours.Estimate:
    return ours.entropy_estimate(samples, correct=False)


@law("maths.entropy_estimate", fault=_no_correction, most_cases=3)
def shares_seem_to_hold_less_than_there_is_and_the_correction_gives_most_of_it_back(case: Case) -> float:
    """E H(p̂) ≤ H(p), and |E Ĥ - H(p)| ≤ ½ |E H(p̂) - H(p)| with the correction, over all samples of 6"""
    share = case.real("p", 0.3, 0.7)
    true, estimate = float(ours.entropy([share, 1 - share])), case.build
    plain, corrected = (
        _of_all_samples([share, 1 - share], 6, lambda s, c=c: float(estimate(correct=c)(s).value))  # type: ignore[misc]
        for c in (False, True)
    )
    return max(0.0, plain - true) + max(0.0, abs(corrected - true) - 0.5 * abs(plain - true))


# Codes


def _probabilities(case: Case, most: int = 6) -> Tensor:
    return case.distribution("p", case.integer("outcomes", 1, most)).detach()


def _equal_lengths(p: Tensor) -> ours.HuffmanCode:
    bits = math.ceil(math.log2(len(p)))
    return ours.HuffmanCode({i: f"{i:0{bits}b}" if bits else "" for i in range(len(p))}, len(p))


def _by_rank(p: Tensor) -> ours.HuffmanCode:
    """1 for the rarest, 01 for the next, 001 and so on: it can be decoded, and is too long."""
    order = p.argsort().tolist()
    return ours.HuffmanCode({i: "0" * rank + "1" for rank, i in enumerate(order)}, len(p))


@law("maths.huffman", fault=_by_rank)
def a_word_is_less_than_a_bit_longer_than_the_surprise_on_average(case: Case) -> float:
    """H(p) ≤ L < H(p) + 1 in bits"""
    p = _probabilities(case)
    length, entropy = case.build()(p).mean_length(p), divergences.entropy(p, base=2)
    return max(excess(entropy, length), excess(length, entropy + 1))


@law("maths.huffman", fault=[_by_rank, _equal_lengths])
def no_other_code_is_shorter(case: Case) -> float:
    """L = min Σ pᵢℓᵢ over all whole lengths with Σ 2^-ℓᵢ ≤ 1: Kraft"""
    p = _probabilities(case, 5)
    lengths = product(range(len(p)), repeat=len(p)) if len(p) > 1 else [(0,)]
    possible = torch.tensor([each for each in lengths if sum(2.0**-n for n in each) <= 1], dtype=torch.float64)
    return difference(case.build()(p).mean_length(p), (possible @ p).min())


@law("maths.huffman", fault=lambda p: ours.HuffmanCode({i: "1" * (i + 1) for i in range(len(p))}, len(p)))
def what_is_encoded_is_decoded(case: Case) -> float:
    """decode(encode(x)) = x"""
    p = case.distribution("p", case.integer("outcomes", 2, 6)).detach()
    code = case.build()(p)
    message = case.indices("message", case.integer("length", 1, 20), below=len(p)).tolist()
    try:
        return float(code.decode(code.encode(message)) != message)
    except GradlabError:  # no word of the code
        return 1.0


@law("maths.huffman", fault=_equal_lengths)
def the_wrong_code_costs_the_divergence(case: Case) -> float:
    """L_q(p) - L_p(p) = KL(p‖q) bits, for probabilities that are powers of ½"""
    halves = {2: [1, 1], 3: [1, 2, 2], 4: [1, 2, 3, 3], 5: [2, 2, 2, 3, 3]}
    size = case.choice("outcomes", (3, 4, 5))
    p = 0.5 ** torch.tensor(halves[size], dtype=torch.float64)
    q = p[case.permutation("order", size)]
    code = case.build()
    return difference(code(q).mean_length(p) - code(p).mean_length(p), divergences.kl(p, q, base=2))
