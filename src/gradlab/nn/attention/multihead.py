"""Attention in several subspaces at once."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.attention.cache import LayerCache, MemoryCache
from gradlab.nn.attention.dot_product import ScaledDotAttention
from gradlab.nn.attention.linear import LinearAttention
from gradlab.nn.attention.masks import for_scores, without_later_keys
from gradlab.nn.blocks import Family, ShapeError, block
from gradlab.nn.plain import is_plain
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.steps import At, Step
from gradlab.registry import Count, Fraction

attentions = Family("attention.{}", "dim", "query_dim", "key_dim", "hidden_dim", "rank", old={"softmax": "scaled_dot"})
"""Those of one head, built of the number of its features."""

Positions = Callable[[Tensor, int], Tensor]
ScoreBias = Callable[[int, int], Tensor]


@runtime_checkable
class AttentionCache(Protocol):
    """What is kept of earlier positions, so that a new one costs one step."""

    @property
    def length(self) -> int:
        """How many positions it has."""

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in new keys and values, and give all there are, on the axis before the last."""


@block(
    "attention.multihead",
    flops="8·n·d² + 4·n²·d, and 4·n·d²·(1 - g/h) less with g heads of keys",
    memory="O(n·d), and O(n²·h) if the `attention` is not fused or the weights are asked for",
    letters="n positions that look at themselves",
)
class MultiheadAttention(nn.Module):
    r"""Attention in h subspaces at once, whose results lie side by side and are mixed by one more affine map.

    $$ O_a = \mathrm{softmax} \left( \frac{Q_a K_a^\top}{\sqrt{e}} \right) V_a, \qquad
       Y = (O_1, \dots, O_h) \, W^\top + b $$

    h is `num_heads`. Queries, keys and values each go through an affine map first, and head a has the a-th e of their
    features; e is `head_dim`, by default d/h with d = `embed_dim`. The results lie along the axis of features too, so
    that no position mixes with another but by attention. A query that may look nowhere gets b. Without a key, keys and
    values are the queries (self-attention); without a value, the values are the keys. Weights are named and laid out
    as in torch.nn.MultiheadAttention, whose masks mean the opposite.

    A dense layer has fixed weights; these follow from the input. Each position reaches every other in one step: so no
    single vector has to carry a whole sequence, as the last state of an encoder does (`gradlab train copy-seq2seq` with
    `model.attention=none`), no gradient has a long way back, and `weights` shows what was looked at.

    With `num_key_value_heads` g below h, each head of keys and values serves h/g heads of queries that lie side by
    side, and a cache has g heads alone (grouped queries: Ainslie et al. 2023, arXiv:2305.13245).

    Parts can be put in: `attention`, a function of the heads' queries, keys, values and mask; `position`, a function of
    the heads' queries or keys and of the position of the first, such as a rotation; `score_bias`, a function of the
    numbers of queries and keys that gives what is added to the scores. The last query stands at the last key. With a
    `cache`, the keys are those after its own, and it gives all of them; of linear attention, `new_cache` keeps the sums
    alone; a `MemoryCache` keeps keys and values that stay. Vaswani et al. 2017, arXiv:1706.03762.

    >>> attention = MultiheadAttention(8, num_heads=2)
    >>> x = torch.randn(1, 5, 8)
    >>> attention(x).shape, attention.weights(x, is_causal=True).shape
    (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        dropout: Fraction = 0.0,
        bias: bool = True,
        kdim: Count | None = None,
        vdim: Count | None = None,
        *,
        attention: Callable[..., Tensor] | None = None,
        position: Positions | None = None,
        score_bias: ScoreBias | None = None,
        num_key_value_heads: Count | None = None,
        head_dim: Count | None = None,
    ):
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.num_key_value_heads = num_heads if num_key_value_heads is None else num_key_value_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        if head_dim is None:
            _must_divide("embed_dim", embed_dim, "num_heads", num_heads)
        _must_divide("num_heads", num_heads, "num_key_value_heads", self.num_key_value_heads)
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        if attention is not None and dropout:
            raise GradlabError(f"attention.multihead: dropout={dropout} has no effect, the attention has its own.")
        self.attention = ScaledDotAttention(dropout=dropout) if attention is None else attention
        self.position, self.score_bias = position, score_bias
        accepted = inspect.signature(getattr(self.attention, "forward", self.attention)).parameters
        self._takes_causal = "is_causal" in accepted
        if score_bias is not None and "bias" not in accepted:
            raise GradlabError("attention.multihead: score_bias needs an attention that takes a bias.")
        queries, keys, values = self.rows
        if self.is_packed:
            self.in_proj_weight = nn.Parameter(torch.empty(sum(self.rows), embed_dim))
        else:
            self.q_proj_weight = nn.Parameter(torch.empty(queries, embed_dim))
            self.k_proj_weight = nn.Parameter(torch.empty(keys, self.kdim))
            self.v_proj_weight = nn.Parameter(torch.empty(values, self.vdim))
        for weight in self.parameters(recurse=False):
            nn.init.xavier_uniform_(weight)
        self.in_proj_bias = nn.Parameter(torch.zeros(sum(self.rows))) if bias else None
        self.out_proj = nn.Linear(queries, embed_dim, bias)
        if bias:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Float[Tensor, "*batch n {self.embed_dim}"],
        key: Float[Tensor, "*batch m {self.kdim}"] | None = None,
        value: Float[Tensor, "*batch m {self.vdim}"] | None = None,
        mask: Bool[Tensor, "*#batch #n #all_keys"] | None = None,
        *,
        is_causal: bool = False,
        cache: AttentionCache | StateCache | MemoryCache | None = None,
    ) -> Float[Tensor, "*batch n {self.embed_dim}"]:
        if isinstance(cache, MemoryCache):
            return self._mixed(self._remembered(query, key, value, mask, is_causal, cache))
        key = self._instead(key, query, "key", self.kdim)
        q, k, v = self._heads(query, key, self._instead(value, key, "value", self.vdim))
        q, k = self._turned(q, k, start=0 if cache is None else cache.length)
        if isinstance(cache, StateCache):
            if mask is not None or not is_causal:
                raise GradlabError("attention.multihead: with sums for a cache, attention is causal and has no mask.")
            return self._mixed(self.summed(q, k, v, cache))
        k, v = (k, v) if cache is None else cache.append(k, v)
        return self._mixed(self._attended(q, k, v, mask, is_causal))

    def _mixed(self, pooled: Tensor) -> Tensor:
        mixed: Tensor = self.out_proj(pooled.transpose(-3, -2).flatten(-2))
        return mixed

    def _remembered(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        mask: Tensor | None,
        is_causal: bool,
        cache: MemoryCache,
    ) -> Tensor:
        """What is gathered of keys and values that are projected once."""
        if is_causal or self.position is not None or self.score_bias is not None:
            raise GradlabError("attention.multihead: a memory that is cached has no positions, and is seen as a whole.")
        if cache.kept is None:
            key = self._instead(key, query, "key", self.kdim)
            q, k, v = self._heads(query, key, self._instead(value, key, "value", self.vdim))
            cache.keep(k, v, mask)
        else:
            (q,), (k, v, mask) = self._heads(query), cache.kept
        return self._attended(q, k, v, mask, False)

    def pooled(self, q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
        """What the heads' queries gather of their own texts, before it is mixed."""
        return self._attended(*self._turned(q, k), v, None, is_causal)

    def _attended(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
        mask, options = self.options(q, k, mask, is_causal)
        return self.attention(q, self.spread(k), self.spread(v), mask, **options)

    def weights(
        self,
        query: Float[Tensor, "*batch n {self.embed_dim}"],
        key: Float[Tensor, "*batch m {self.kdim}"] | None = None,
        mask: Bool[Tensor, "*#batch #n #all_keys"] | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch {self.num_heads} n all_keys"]:
        """What each key counts for each query in each head, if the `attention` has weights to show."""
        q, k = self._heads(query, self._instead(key, query, "key", self.kdim))
        q, k = self._turned(q, k)
        mask, options = self.options(q, k, mask, is_causal)
        return self.attention.weights(q, self.spread(k), mask, **options)  # type: ignore[union-attr]

    def new_cache(self, batch: int, max_length: int) -> LayerCache | StateCache:
        """What decoding keeps of earlier positions: keys and values, or of linear attention their sums."""
        if isinstance(self.attention, LinearAttention) and is_plain(self):
            # To go back is for one text, by a draft. The states of many would take much memory.
            return StateCache(remembered=16 if batch == 1 else 1)
        return LayerCache(max_length)

    def decoding(self, norm: nn.Module, cache: LayerCache | StateCache) -> Step:
        """Causal attention of the next positions, normalised before it, to all there are; for what is plain."""
        from gradlab.nn.attention.decoding import decoding_step

        return decoding_step(self, norm, cache)

    @property
    def of_modules(self) -> bool:
        """Whether all its parts are modules, not functions, of which nothing can be known."""
        return isinstance(self.attention, nn.Module) and all(
            isinstance(part, nn.Module | None) for part in (self.position, self.score_bias)
        )

    def summed(self, q: Tensor, k: Tensor, v: Tensor, cache: StateCache, at: At | None = None) -> Tensor:
        """Linear attention of new heads to what a cache has the sums of."""
        assert isinstance(self.attention, LinearAttention)
        k, v = self.spread(k), self.spread(v)
        if q.shape[-2] > 1:
            pooled, state = self.attention.advance(q, k, v, cache.state)
        else:
            pooled, state = self.attention.step(q.squeeze(-2), k.squeeze(-2), v.squeeze(-2), cache.state)
            pooled = pooled.unsqueeze(-2)
        if at is None:
            cache.update(state, q.shape[-2])
        else:
            cache.overwrite(state)
        return pooled

    def spread(self, heads: Tensor) -> Tensor:
        """Keys or values, (…, g, length, e), written once for each head of queries that they serve."""
        served = self.num_heads // self.num_key_value_heads
        return heads if served == 1 else heads.repeat_interleave(served, -3)

    def _instead(self, tensor: Tensor | None, other: Tensor, name: str, size: int) -> Tensor:
        """What stands in for a key or a value that is not given, if it has as many features."""
        if tensor is None and other.shape[-1] != size:
            raise ShapeError(f"attention.multihead: {name} must be given, since {name[0]}dim={size}.")
        return other if tensor is None else tensor

    def _heads(self, *inputs: Tensor) -> list[Tensor]:
        """Inputs as the heads see them, (…, heads, length, e): queries and, if there are more, keys and values."""
        if len(inputs) == 3 and inputs[0] is inputs[1] is inputs[2] and self.is_packed:
            # One product gives all three.
            projected = F.linear(inputs[0], self.in_proj_weight, self.in_proj_bias).split_with_sizes(self.rows, -1)
        else:
            projected = tuple(map(F.linear, inputs, *self._projections()))
        return [torch.unflatten(x, -1, (-1, self.head_dim)).transpose(-3, -2) for x in projected]

    def _projections(self) -> tuple[Sequence[Tensor], Sequence[Tensor | None]]:
        """The weights and the biases of queries, keys and values."""
        apart = () if self.is_packed else (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.split_with_sizes(self.rows)
        return apart or self.in_proj_weight.split_with_sizes(self.rows), biases

    @property
    def rows(self) -> tuple[int, int, int]:
        """How many features queries, keys and values are projected to."""
        keys = self.num_key_value_heads * self.head_dim
        return self.num_heads * self.head_dim, keys, keys

    @property
    def is_packed(self) -> bool:
        """Whether one matrix has all three projections."""
        return self.kdim == self.vdim == self.embed_dim

    def _turned(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """Queries and keys that know their positions. The keys begin at `start`; the last query is at the last key."""
        if self.position is None:
            return q, k
        return self.position(q, start + k.shape[-2] - q.shape[-2]), self.position(k, start)

    def options(
        self, q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool
    ) -> tuple[Tensor | None, dict[str, Any]]:
        """The mask for all heads, and the other arguments of the attention."""
        n, m = q.shape[-2], k.shape[-2]
        options: dict[str, Any] = {}
        if mask is not None:
            mask = for_scores(mask, torch.Size([*q.shape[:-3], n, m])).unsqueeze(-3)
        if is_causal and self._takes_causal:
            options["is_causal"] = True
        elif is_causal:
            mask = without_later_keys(mask, n, m, q.device)
        if self.score_bias is not None:
            options["bias"] = self.score_bias(n, m)
        return mask, options


def _must_divide(whole: str, size: int, part: str, parts: int) -> None:
    if size % parts:
        raise GradlabError(f"attention.multihead: {whole} must be a multiple of {part}, got {size} and {parts}.")
