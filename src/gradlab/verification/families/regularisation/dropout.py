"""What is known of dropout in its forms."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.regularisation import Dropout, StochasticDepth, Thinning
from gradlab.scratch import regularisation
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, same
from gradlab.verification.seeding import seeded
from gradlab.verification.subject import Incomparable

FORMS = ("regularisation.dropout", "regularisation.thinning", "regularisation.stochastic_depth")


def _inputs(case: Case) -> Tensor:
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 1, 3))]
    return case.tensor("x", *shape, away_from=(0.0,))


def _output(case: Case, block: nn.Module, x: Tensor) -> Tensor:
    """What the block makes of x, with the same mask whenever the shape is the same."""
    with seeded(case):
        y: Tensor = block(x)
    return y


def _dropped(case: Case, form: Callable[..., Any]) -> float:
    """Value and gradient in training, beside those of the twin with the mask that the block has drawn."""
    x, p = _inputs(case), case.real("p", 0, 0.9)
    if p == 1:
        raise Incomparable("with p = 1 nothing is kept")
    block = case.build(p=p).train()
    mask = (_output(case, block, torch.ones_like(x)) != 0).numpy()
    return agreement(_output(case, block, x), lambda x: form(x, mask, p), x)


@twin("regularisation.dropout", regularisation.dropout)
def dropout_twin(case: Case) -> float:
    return _dropped(case, regularisation.dropout)


@twin("regularisation.thinning", regularisation.thinned)
def thinning_twin(case: Case) -> float:
    return _dropped(case, lambda x, mask, p: regularisation.thinned(x, mask))


@twin("regularisation.stochastic_depth", regularisation.dropout)
def depth_twin(case: Case) -> float:
    return _dropped(case, regularisation.dropout)


@peer("regularisation.dropout", "torch.nn.Dropout")
def torchs_dropout(case: Case) -> float:
    x, p = _inputs(case), case.real("p", 0, 1)
    block, torchs = case.build(p=p), nn.Dropout(p)
    trained = same(_output(case, block, x), _output(case, torchs, x), [x])
    return max(trained, same(block.eval()(x), torchs.eval()(x), [x]))


@peer("regularisation.thinning", "torch.nn.Dropout, times 1 - p")
def torchs_dropout_made_smaller(case: Case) -> float:
    x, p = _inputs(case), case.real("p", 0, 1)
    block, torchs = case.build(p=p), nn.Dropout(p)
    trained = same(_output(case, block, x), (1 - p) * _output(case, torchs, x), [x])
    return max(trained, same(block.eval()(x), (1 - p) * torchs.eval()(x), [x]))


for _name in FORMS:
    example(_name, n=12)(lambda n: ({"p": 0.2}, (torch.linspace(-3, 3, n).reshape(4, -1),)))


# Laws


def _probability(case: Case) -> float:
    """The probability of dropping, where both of what may happen will be seen."""
    p = case.real("p", 0.3, 0.7)
    if min(p, 1 - p) < 0.01:
        raise Incomparable("its p is too close to 0 or 1 to see what seldom happens")
    return p


def _different(rows: Tensor) -> Tensor:
    """Each row once."""
    return torch.stack(list({tuple(row.tolist()): row for row in rows}.values()))


class NeverScaled(Thinning):
    """Drops in training, and makes up for it nowhere."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.training else x


class KeepProbability(Dropout):
    """Takes p for the probability of keeping."""

    def __init__(self, p: float):
        super().__init__(1 - p)


class DroppedAtTest(Dropout):
    """Goes on dropping at test time."""

    def eval(self) -> "DroppedAtTest":
        return self


@law("regularisation.dropout", "regularisation.thinning", wrong=NeverScaled)
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
    mean = chances @ (outputs @ weight.T + bias)
    return difference(mean, block.eval()(x) @ weight.T + bias)


@law("regularisation.dropout", "regularisation.thinning", wrong=KeepProbability, tolerance=5.0, most_cases=3)
def the_share_of_dropped_entries_is_p(case: Case) -> float:
    """P(f(x)ᵢ = 0) = p: standard errors away, of which 5 are met by chance once in a million"""
    return _standard_errors(case, torch.ones(20_000))


@law("regularisation.stochastic_depth", wrong=KeepProbability, tolerance=5.0, most_cases=3)
def the_share_of_dropped_examples_is_p(case: Case) -> float:
    """P(f(x)ᵢ = 0) = p: standard errors away, of which 5 are met by chance once in a million"""
    return _standard_errors(case, torch.ones(20_000, 1))


def _standard_errors(case: Case, x: Tensor) -> float:
    p = _probability(case)
    dropped = (_output(case, case.build(p=p).train(), x) == 0).double()
    return abs(float(dropped.mean()) - p) / sqrt(p * (1 - p) / len(x))


@law("regularisation.dropout", "regularisation.stochastic_depth", wrong=DroppedAtTest)
def at_test_time_nothing_is_done(case: Case) -> float:
    """f(x) = x at test time"""
    x, p = _inputs(case), case.real("p", 0, 1)
    return difference(_output(case, case.build(p=p).eval(), x), x)


@law("regularisation.thinning", wrong=Dropout)
def it_is_dropout_made_smaller(case: Case) -> float:
    """f(x) = (1 - p) Dropout(x), in training and at test time"""
    x, p = _inputs(case), case.real("p", 0, 0.9)
    block, other = case.build(p=p), Dropout(p)
    trained = difference(_output(case, block.train(), x), (1 - p) * _output(case, other, x))
    return max(trained, difference(block.eval()(x), (1 - p) * other.eval()(x)))


@law("regularisation.stochastic_depth", wrong=Dropout)
def an_example_is_dropped_whole_or_not_at_all(case: Case) -> float:
    """f(x)ᵢ = 0 or f(x)ᵢ = xᵢ / (1 - p)"""
    shape = case.integer("batch", 1, 6), case.integer("width", 1, 4)
    x, p = case.tensor("x", *shape, away_from=(0.0,)).detach(), case.real("p", 0, 0.9)
    y = _output(case, case.build(p=p).train(), x)
    to_each = torch.stack([y, y - x / (1 - p)]).abs().amax(-1)
    return float(to_each.amin(0).max())


class NotEnlarged(StochasticDepth):
    """Does not make up for what is dropped."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * ((1 - self.p) if self.training else 1)


@law("regularisation.stochastic_depth", wrong=NotEnlarged)
def the_mean_over_both_depths_is_what_is_seen_at_test_time(case: Case) -> float:
    """p · 0 + (1 - p) f_kept(x) = f(x)"""
    p = _probability(case)
    x = case.tensor("x", case.integer("width", 1, 4), away_from=(0.0,)).detach()
    block = case.build(p=p).train()
    outputs = _different(_output(case, block, x.repeat(round(40 / min(p, 1 - p)), 1)))
    kept = (outputs != 0).any(1).to(x)
    return difference(((1 - p) * kept + p * (1 - kept)) @ outputs, block.eval()(x[None])[0])
