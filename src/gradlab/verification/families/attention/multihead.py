"""What is known of multi-head attention, ours and that of users."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn.attention import MultiheadAttention
from gradlab.scratch import attention, functions
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, same
from gradlab.verification.families.attention.looking import arguments, built, look, mask_name, required, takes
from gradlab.verification.families.attention.projections import Projections
from gradlab.verification.subject import Incomparable

BLOCK = "attention.multihead"


@dataclass(frozen=True)
class Scene:
    """A block, and the tokens it is to look at."""

    block: Any
    heads: int
    queries: Tensor
    memory: Tensor
    """What is looked at: the queries themselves, if the block takes one input only."""

    def __call__(self, mask: Tensor | None = None) -> Tensor:
        return attended(self.block, self.queries, self.memory, mask)

    @property
    def leaves(self) -> list[Tensor]:
        return [self.queries] if self.memory is self.queries else [self.queries, self.memory]


def attended(block: Any, queries: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
    """The result of a call with as many of queries, keys and values as the block takes."""
    count = places(block)
    if count == 1 and memory is not queries:
        raise Incomparable("it takes one input, so its keys are its queries")
    return look(block, *[queries, memory, memory][:count], mask=mask)


def places(block: Any) -> int:
    """How many inputs it can be called with."""
    named = arguments(block)
    optional = {"key", "value"} <= set(named) or {"k", "v"} <= set(named)
    return 3 if optional else min(3, max(1, len(required(block))))


def scene(case: Case, fewest: int = 1, *, alone: bool = False) -> Scene:
    """A block of some heads, with a batch of tokens; `alone`, they look at themselves only."""
    fixed = case.subject.fixed
    if "embed_dim" in fixed:
        heads = case.choice("num_heads", [h for h in (1, 2, 3, 4) if fixed["embed_dim"] % h == 0])
    else:
        heads = case.integer("num_heads", 1, 3)
    d = case.integer("embed_dim", heads, 3 * heads, multiple_of=heads)
    biased = {"bias": not case.flag("without bias")} if takes(case, "bias") and "bias" not in fixed else {}
    block = built(case, embed_dim=d, num_heads=heads, **biased)
    batch, n = case.integer("batch", 1, 2), case.integer("n", fewest, 4)
    queries = case.tensor("queries", batch, n, d)
    if alone or places(block) == 1 or not case.flag("cross"):
        return Scene(block, heads, queries, queries)
    return Scene(block, heads, queries, case.tensor("memory", batch, case.integer("m", fewest, 4), d))


def _mask(case: Case, seen: Scene) -> Tensor | None:
    if mask_name(seen.block) is None or not case.flag("masked"):
        return None
    return case.mask("mask", seen.queries.shape[1], seen.memory.shape[1])


@twin(BLOCK, attention.multi_head)
def multihead_twin(case: Case) -> float:
    seen = scene(case)
    mask, maps = _mask(case, seen), Projections(seen.block)
    hidden = None if mask is None else mask.numpy()

    def by_hand(*leaves: scratch.Tensor) -> scratch.Tensor:
        inputs, weights = leaves[: len(seen.leaves)], leaves[len(seen.leaves) :]
        queries, memory = inputs[0], inputs[-1]
        in_weight, in_bias, out_weight, out_bias = maps.arranged(weights, functions.concatenate)
        assert in_weight is not None
        assert out_weight is not None
        return attention.multi_head(
            queries, memory, memory, seen.heads, in_weight, in_bias, out_weight, out_bias, hidden
        )

    return agreement(seen(mask), by_hand, *seen.leaves, *maps.leaves)


@peer(BLOCK, "torch.nn.MultiheadAttention")
def torchs(case: Case) -> float:
    seen = scene(case)
    mask, maps = _mask(case, seen), Projections(seen.block)
    judge = nn.MultiheadAttention(seen.queries.shape[-1], seen.heads, batch_first=True).double()
    inputs = (seen.queries, seen.memory, seen.memory)
    told = {"attn_mask": None if mask is None else ~mask, "average_attn_weights": False}  # there, true is hidden
    wanted, shares = torch.func.functional_call(judge, maps.packed(), inputs, told)
    leaves = [*seen.leaves, *maps.leaves]
    error = same(seen(mask), wanted, leaves)
    if isinstance(seen.block, MultiheadAttention):
        error = max(error, same(seen.block.weights(seen.queries, seen.memory, mask), shares, leaves))
    return error


@example(BLOCK, n=5, d=8)
def multihead_example(n: int, d: int) -> Any:
    return {"embed_dim": d, "num_heads": 2}, (torch.randn(1, n, d),)
