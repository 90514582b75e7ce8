"""Where each head of attention looks, and what that comes to in figures."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.attention import MultiheadAttention
from gradlab.nn.attention.scores import Attention
from gradlab.probes.recording import ModuleCall, Recording


@dataclass(frozen=True)
class Head:
    """One head, on average over all queries that look anywhere. Shares are of the weight, from 0 to 1."""

    entropy: float
    """In bits: over 2^entropy keys, evenly, it would be as spread."""

    first: float
    """The share on the first key."""

    distance: float | None
    """How far from the query's own place its weight lies; these three are of self-attention."""

    itself: float | None
    previous: float | None


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weights of one call of attention, or why there are none to show."""

    name: str
    weights: Float[Tensor, "batch heads queries keys"] | None
    itself: bool = False
    """Whether queries and keys are the same positions."""

    reason: str = ""

    @property
    def heads(self) -> list[Head]:
        if self.weights is None:
            return []
        return [head(self.weights[:, h], self.itself) for h in range(self.weights.shape[1])]


def attention_maps(recording: Recording) -> list[AttentionMap]:
    """A map for each call of attention: of the blocks here, and of torch.nn.MultiheadAttention."""
    inner = {m.attention for m in recording.model.modules() if isinstance(m, MultiheadAttention)}
    kinds = (MultiheadAttention, nn.MultiheadAttention, Attention)
    calls = [call for call in recording.calls if isinstance(call.module, kinds) and call.module not in inner]
    with torch.no_grad():
        return [_map(call) for call in calls]


def head(weights: Float[Tensor, "batch queries keys"], itself: bool) -> Head:
    """The figures of one head. The last query stands at the last key.

    >>> head(torch.eye(4)[None], itself=True)
    Head(entropy=0.0, first=0.25, distance=0.0, itself=1.0, previous=0.0)
    """
    w = weights.double()
    looks = w.sum(-1) > 0
    n, m = w.shape[-2:]
    key = torch.arange(m, device=w.device)
    query = torch.arange(n, device=w.device)[:, None] + (m - n)

    def mean(figure: Tensor, among: Tensor = looks) -> float:
        chosen = figure[among]
        return chosen.mean().item() if len(chosen) else 0.0

    return Head(
        entropy=mean(torch.special.entr(w).sum(-1) / math.log(2)),
        first=mean(w[..., 0]),
        distance=mean((w * (query - key).abs()).sum(-1)) if itself else None,
        itself=mean((w * (query == key)).sum(-1)) if itself else None,
        previous=mean((w * (query - 1 == key)).sum(-1), looks & (query[:, 0] > 0)) if itself else None,
    )


def _map(call: ModuleCall) -> AttentionMap:
    arguments = call.bound()
    module: Any = call.module
    if isinstance(module, nn.MultiheadAttention):
        weights = module(**arguments | {"need_weights": True, "average_attn_weights": False})[1]
        return AttentionMap(call.name, _batched(weights), arguments["key"] is arguments["query"])
    if arguments.get("cache") is not None:
        return AttentionMap(call.name, None, reason="it went on from a cache")
    if isinstance(module, MultiheadAttention):
        if not hasattr(module.attention, "weights"):
            kind = type(module.attention).__name__
            return AttentionMap(call.name, None, reason=f"{kind} never computes the weights of single keys")
        query, key, causal = arguments["query"], arguments.get("key"), arguments.get("is_causal", False)
        weights = module.weights(query, key, arguments.get("mask"), is_causal=causal)
        return AttentionMap(call.name, _batched(weights), key is None or key is query)
    weights = module.weights(**{name: value for name, value in arguments.items() if name != "values"})
    return AttentionMap(call.name, _batched(weights.unsqueeze(-3)))


def _batched(weights: Float[Tensor, "*batch heads queries keys"]) -> Float[Tensor, "examples heads queries keys"]:
    return weights.detach().reshape(-1, *weights.shape[-3:])
