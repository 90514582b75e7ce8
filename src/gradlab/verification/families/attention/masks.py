"""What is known of the softmax over what may be looked at."""

import torch
from torch import Tensor

from gradlab.nn.attention.masks import causal_mask
from gradlab.scratch import functions
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, conform, example, law
from gradlab.verification.comparing import difference, gradients

BLOCK = "attention.masked_softmax"


def _scores(case: Case) -> tuple[Tensor, Tensor]:
    n, m = case.integer("n", 1, 3), case.integer("m", 2, 4)
    batch = case.sizes(2, (0, 2), "batch", "batch axes")
    return case.tensor("scores", *batch, n, m, scale=3.0), case.mask("mask", n, m)


def _call(case: Case) -> Call:
    scores, mask = _scores(case)
    return Call(case.build(), (scores, mask) if case.flag("masked") else (scores,))


conform(BLOCK, _call, twin=functions.softmax, twin_call=lambda scores, mask=None: functions.softmax(scores, mask=mask))
conform(
    BLOCK,
    lambda case: Call(case.build(), _scores(case)),
    peer={"torch.masked.softmax": lambda call: _torchs(*call.inputs)},
)
example(BLOCK, call=lambda n, m: ({}, (torch.randn(n, m), causal_mask(n, m))), n=3, m=4)


def _torchs(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.masked.softmax(scores, -1, mask=mask.expand_as(scores)).masked_fill(~mask, 0.0)


@law(BLOCK, fault=lambda scores, mask: torch.softmax(scores + mask * 10.0, -1))
def hidden_scores_have_no_gradient(case: Case) -> float:
    """∂α/∂s = 0 where the mask is false"""
    scores, mask = _scores(case)
    (gradient,) = gradients(case.build()(scores, mask), [scores])
    return float((gradient * ~mask).abs().max())


@law(BLOCK, fault=lambda scores, mask: torch.softmax(scores, -1).masked_fill(~mask, 0.0))
def the_visible_scores_have_their_own_softmax(case: Case) -> float:
    """α[mask] = softmax(s[mask]), and α = 0 elsewhere"""
    scores, mask = _scores(case)
    weights = case.build()(scores, mask)
    wanted = torch.zeros_like(weights)
    for i, visible in enumerate(mask):
        wanted[..., i, visible] = torch.softmax(scores[..., i, visible], -1)
    return difference(weights, wanted)


@law(BLOCK, fault=lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -1e6), -1))
def a_score_however_low_does_not_lose_to_a_hidden_one(case: Case) -> float:
    """Σ α[mask] = 1 for scores near -10⁸; and α = 0 where nothing is visible"""
    scores, mask = _scores(case)
    mask[0] = case.flag("the first row is visible")
    weights = case.build()(scores - 1e8, mask)
    return difference((weights * mask).sum(-1), mask.any(-1).to(weights).expand(weights.shape[:-1]))
