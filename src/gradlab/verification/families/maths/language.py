"""What is known of probabilities of texts."""

import math
from collections.abc import Sequence
from itertools import product

import torch
from torch import Tensor

from gradlab.maths import language as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

for _function in (
    ours.conditionals,
    ours.sequence_log_probability,
    ours.perplexity,
    ours.smoothed,
    ours.length_normalised,
):
    subject(f"maths.{_function.__name__}")(_function)


def _joint(case: Case) -> Tensor:
    """The probabilities of all texts of a length, some of which never occur."""
    tokens, length = case.integer("tokens", 1, 3), case.integer("length", 1, 4)
    scores = case.tensor("scores", tokens**length).detach().softmax(-1)
    kept = scores * case.mask("possible", tokens**length)
    return (kept / kept.sum()).reshape([tokens] * length)


def _marginals(joint: Tensor) -> list[Tensor]:
    """As if a token did not depend on the ones before."""
    axes = range(joint.ndim)
    return [
        joint.sum([axis for axis in axes if axis != t]).expand(joint.shape[: t + 1]) if joint.ndim > 1 else joint
        for t in axes
    ]


def _without_the_first(tables: Sequence[Tensor], tokens: Tensor) -> Tensor:
    terms = [table[tuple(tokens[..., : t + 1].unbind(-1))].log() for t, table in enumerate(tables)]
    return torch.stack(terms[1:] or [0 * terms[0]], -1).sum(-1)


@law("maths.conditionals", id="sequence-chain-rule", fault=_marginals)
def a_text_is_as_probable_as_its_tokens_one_after_the_other(case: Case) -> float:
    """P(x₁, …, x_T) = P(x₁) Π P(x_t|x₁, …, x_{t-1}), and each P(·|x₁, …, x_{t-1}) sums to 1"""
    joint = _joint(case)
    tables, whole = case.build()(joint), torch.ones((), dtype=torch.float64)
    for table in tables:
        whole = whole[..., None] * table
    sums = [table.sum(-1) for table in tables]
    return difference((whole, *sums), (joint, *map(torch.ones_like, sums)))


@law("maths.sequence_log_probability", id="sequence-chain-rule", fault=_without_the_first)
def all_texts_together_are_certain(case: Case) -> float:
    """log P(x₁, …, x_T) = Σ log P(x_t|x_{<t}), and their exponentials sum to 1 over all texts"""
    joint = _joint(case)
    texts = torch.tensor([*product(*map(range, joint.shape))])
    got = case.build()(ours.conditionals(joint), texts).exp()
    return difference((got, got.sum()), (joint.flatten(), joint.sum()))


def _capped(log_p: Tensor) -> Tensor:
    return (-log_p.mean(-1)).clamp(max=700).exp()


def _of_the_sum(log_p: Tensor) -> Tensor:
    return (-log_p.sum(-1)).exp()


@law("maths.perplexity", id="perplexity", fault=[_capped, _of_the_sum])
def it_is_1_for_a_certain_text_m_for_equal_tokens_and_infinite_for_an_impossible_one(case: Case) -> float:
    """exp(-(1/n) Σ log P(x_t|x_{<t})) = 1, m, ∞; and 1 / the geometric mean of the probabilities"""
    number, m, perplexity = case.integer("tokens", 1, 6), case.integer("m", 1, 9), case.build()
    p = case.distribution("p", number, 3).detach()[:, 0]
    known = torch.stack([torch.ones_like(p), torch.full_like(p, 1 / m), p])
    impossible = perplexity(torch.cat([p, torch.zeros_like(p[:1])]).log())
    wanted = torch.tensor([1.0, m, p.prod().item() ** (-1 / number)], dtype=torch.float64)
    return difference(perplexity(known.log()), wanted) + float(impossible != math.inf)


def _by_all_tokens(count: Tensor, total: Tensor, strength: float, prior: Tensor) -> Tensor:
    """As if the last token of the text were a context that is followed by something."""
    return (count + strength * prior) / (total + 1 + strength)


def _plus_one(count: Tensor, total: Tensor, strength: float, prior: Tensor) -> Tensor:
    return (count + strength) / (total + strength)


@law("maths.smoothed", id="laplace-smoothing", fault=[_by_all_tokens, _plus_one])
def smoothed_shares_sum_to_one_where_contexts_are_counted_as_they_are_followed(case: Case) -> float:
    """P̂(x'|x) = (n(x, x') + ε P̂(x')) / (n(x) + ε) with P̂(x) = (n(x) + ε/m) / (n + ε): rows sum to 1"""
    m, length = case.integer("vocabulary", 1, 4), case.integer("length", 1, 15)
    text, eps = case.indices("text", length, below=m), case.real("ε", 0.1, 3)
    smoothed = case.build()
    counts = torch.bincount(text, minlength=m).double()
    unigrams = smoothed(counts, counts.sum(), eps, torch.full_like(counts, 1 / m))
    pairs = torch.bincount(text[:-1] * m + text[1:], minlength=m * m).reshape(m, m).double()
    bigrams = smoothed(pairs, pairs.sum(-1, keepdim=True), eps, unigrams)
    wanted = (counts + eps / m) / (length + eps)
    followed = torch.tensor([sum(a == x for a in text[:-1].tolist()) for x in range(m)]).double()
    rows = (pairs + eps * wanted) / (followed + eps)[:, None]
    one = torch.ones(m, dtype=torch.float64)
    return difference((unigrams, bigrams, bigrams.sum(-1)), (wanted, rows, one))


def _not_normalised(sums: Tensor, lengths: Tensor, penalty: float = 1.0) -> Tensor:
    return sums + 0 * lengths


@law("maths.length_normalised", id="length-normalised-score", fault=_not_normalised)
def the_score_is_the_log_of_the_geometric_mean(case: Case) -> float:
    """(1/T) Σ log P(y_k|y_{<k}, x) = log (Π P(y_k|y_{<k}, x))^(1/T)"""
    length = case.integer("T", 1, 6)
    p = case.positive("P", 3, length, low=0.05, high=1.0).detach()
    got = case.build()(p.log().sum(-1), torch.full((3,), float(length), dtype=torch.float64))
    return difference(got.exp(), p.prod(-1) ** (1 / length))
