"""What is known of the softmax over what may be looked at."""

from typing import Any

import torch
from torch import Tensor

from gradlab.nn.attention.masks import causal_mask
from gradlab.scratch import functions
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, gradients, same


@twin("attention.masked_softmax", functions.softmax)
def masked_softmax_twin(case: Case) -> float:
    scores, mask = _scores(case)
    block = case.build()
    if case.flag("masked"):
        return agreement(block(scores, mask), lambda s: functions.softmax(s, mask=mask.numpy()), scores)
    return agreement(block(scores), functions.softmax, scores)


def _scores(case: Case) -> tuple[Tensor, Tensor]:
    n, m = case.integer("n", 1, 3), case.integer("m", 2, 4)
    batch = [case.integer(f"batch {axis}", 1, 2) for axis in range(case.integer("batch axes", 0, 2))]
    return case.tensor("scores", *batch, n, m, scale=3.0), case.mask("mask", n, m)


@peer("attention.masked_softmax", "torch.masked.softmax")
def torchs_masked_softmax(case: Case) -> float:
    scores, mask = _scores(case)
    wanted = torch.masked.softmax(scores, -1, mask=mask.expand_as(scores)).masked_fill(~mask, 0.0)
    return same(case.build()(scores, mask), wanted, [scores])


@law("attention.masked_softmax", wrong=lambda scores, mask: torch.softmax(scores, -1).masked_fill(~mask, 0.0))
def the_visible_scores_have_their_own_softmax(case: Case) -> float:
    """α[mask] = softmax(s[mask]), and α = 0 elsewhere"""
    scores, mask = _scores(case)
    weights = case.build()(scores, mask)
    wanted = torch.zeros_like(weights)
    for i, visible in enumerate(mask):
        wanted[..., i, visible] = torch.softmax(scores[..., i, visible], -1)
    return difference(weights, wanted)


@law("attention.masked_softmax", wrong=lambda scores, mask: torch.softmax(scores + mask * 10.0, -1))
def hidden_scores_have_no_gradient(case: Case) -> float:
    """∂α/∂s = 0 where the mask is false"""
    scores, mask = _scores(case)
    (gradient,) = gradients(case.build()(scores, mask), [scores])
    return float((gradient * ~mask).abs().max())


@law("attention.masked_softmax", wrong=lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -1e6), -1))
def a_score_however_low_does_not_lose_to_a_hidden_one(case: Case) -> float:
    """Σ α[mask] = 1 for scores near -10⁸; and α = 0 where nothing is visible"""
    scores, mask = _scores(case)
    mask[0] = case.flag("the first row is visible")
    weights = case.build()(scores - 1e8, mask)
    return difference((weights * mask).sum(-1), mask.any(-1).to(weights).expand(weights.shape[:-1]))


@example("attention.masked_softmax", n=3, m=4)
def masked_softmax_example(n: int, m: int) -> Any:
    return {}, (torch.randn(n, m), causal_mask(n, m))
