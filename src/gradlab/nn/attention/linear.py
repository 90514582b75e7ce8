"""Attention at a cost that grows with the length and not with its square: the sums over the keys are taken first."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gradlab.kernels.linear_attention import Map, linear_attention, takes
from gradlab.kernels.linear_attention_chunks import Keys, State, added, read, read_causal
from gradlab.nn.attention.features import CoshFeatures, ELUFeatures, PositiveFeatures, PositiveMap
from gradlab.nn.attention.masks import for_scores
from gradlab.nn.blocks import block
from gradlab.registry import Count

Form = Literal["positive", "cosh"]

_MANY = 16  # rows from which on kernels are worth their launch where a state is gone on from


@block(
    "attention.linear",
    flops="4·n·d² + 2·n·d, and with `is_causal` 4·n·c·d + 2·n·(c + d) more",
    memory="O(n·d), and with `is_causal` O(n·c + n·d²/c) more",
    letters="n queries, n keys and d entries in each of them, in their features and in the values",
)
class LinearAttention(nn.Module):
    r"""Attention whose weights are dot products of features, so that the sums over keys are the same for all queries.

    $$ o_i = \frac{\varphi(q_i)^\top S}{\varphi(q_i)^\top z}, \qquad
       S = \sum_j \varphi(k_j) \, v_j^\top, \quad z = \sum_j \varphi(k_j) $$

    φ is `feature_map`, by default elu + 1. With `is_causal` the sums of a query end at its own position, where
    the last query stands at the last key. Then it is a recurrent network with the state S and z: `step` takes one
    position, and `forward` takes chunks of c = `chunk_size` positions, whose weights among themselves are written out.

    The mask is true for the keys that take part, the same ones for all queries: a mask for each pair would need all
    n² weights. A query without keys gets zeros. All sums are in float32 or wider. Katharopoulos et al. 2020,
    arXiv:2006.16236.

    >>> q, k, v = torch.randn(3, 2, 100, 8)
    >>> attention = LinearAttention()
    >>> outputs = attention(q, k, v, is_causal=True)
    >>> state = None
    >>> for i in range(100):
    ...     output, state = attention.step(q[:, i], k[:, i], v[:, i], state)
    >>> torch.allclose(output, outputs[:, -1], atol=1e-5)
    True
    """

    def __init__(self, feature_map: PositiveMap | None = None, *, chunk_size: Count = 64):
        super().__init__()
        self.feature_map: PositiveMap = ELUFeatures() if feature_map is None else feature_map
        self.chunk_size = chunk_size

    def forward(
        self,
        queries: Float[Tensor, "*batch queries dim"],
        keys: Float[Tensor, "*batch keys dim"],
        values: Float[Tensor, "*batch keys value_dim"],
        mask: Bool[Tensor, "*#batch 1 keys"] | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch queries value_dim"]:
        known, rows = self._known_map(), _same_for_heads(mask, queries)
        square = not is_causal or queries.shape[-2] == keys.shape[-2]
        if known is not None and rows is not False and square and takes(queries, keys, values):
            feature_map, omega = known
            outputs, _ = linear_attention(
                queries, keys, values, rows, feature_map=feature_map, omega=omega, is_causal=is_causal
            )
            return outputs
        q, _ = self._features(queries)  # a factor of a query's own is in its numerator and in its divisor
        seen = self._seen(keys, values, mask)
        outputs = self._causal(q, seen) if is_causal else read(q, added(seen.nothing, seen))
        return outputs.to(values.dtype)

    def step(
        self,
        query: Float[Tensor, "*batch dim"],
        key: Float[Tensor, "*batch dim"],
        value: Float[Tensor, "*batch value_dim"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "*batch value_dim"], State]:
        """The output at one more position, and the state after it."""
        outputs, state = self.advance(query[..., None, :], key[..., None, :], value[..., None, :], state)
        return outputs.squeeze(-2), state

    def advance(
        self,
        queries: Float[Tensor, "*batch new dim"],
        keys: Float[Tensor, "*batch new dim"],
        values: Float[Tensor, "*batch new value_dim"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "*batch new value_dim"], State]:
        """The outputs at some more positions, each of which sees those before it, and the state after them."""
        known = self._known_map() if queries.shape[-2] >= _MANY and not torch.is_grad_enabled() else None
        if known is not None and takes(queries, keys, values):
            feature_map, omega = known
            outputs, after = linear_attention(
                queries, keys, values, feature_map=feature_map, omega=omega, is_causal=True, state=state
            )
            assert after is not None
            return outputs, after
        q, _ = self._features(queries)
        seen = self._seen(keys, values, None)
        outputs, state = read_causal(q, seen, seen.nothing if state is None else state, self.chunk_size)
        return outputs.to(values.dtype), state

    def _known_map(self) -> tuple[Map, Tensor | None] | None:
        """The feature map as the kernels know it: its name, and random directions."""
        return ("elu", None) if type(self) is LinearAttention and type(self.feature_map) is ELUFeatures else None

    def _features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Features of which the largest is 1, and the logarithm of the factor that makes them φ(x)."""
        logs = self.feature_map.log(x)
        scale = logs.detach().amax(-1)
        return torch.exp(logs - scale[..., None]), scale

    def _seen(self, keys: Tensor, values: Tensor, mask: Tensor | None) -> Keys:
        features, scale = self._features(keys)
        if mask is not None:
            shape = torch.Size([*scale.shape[:-1], 1, scale.shape[-1]])
            scale = scale.masked_fill(~for_scores(mask, shape).squeeze(-2), -torch.inf)
        return Keys(features, scale, values.to(features.dtype))

    def _causal(self, q: Tensor, keys: Keys) -> Tensor:
        n, m = q.shape[-2], keys.scale.shape[-1]
        before, alone = max(m - n, 0), max(n - m, 0)  # keys before the first query; queries before the first key
        state = added(keys.nothing, keys.part(0, before))
        outputs, _ = read_causal(q[..., alone:, :], keys.part(before, m), state, self.chunk_size)
        return torch.cat([outputs.new_zeros(*outputs.shape[:-2], alone, outputs.shape[-1]), outputs], -2)


@block(
    "attention.performer",
    flops="8·n·d·k + 2·n·k, and with `is_causal` in chunks of c 2·n·c·(k + d + 1) + 2·n·k more; "
    'k counts twice with `form="cosh"`',
    memory="O(n·k + k·d)",
)
class PerformerAttention(LinearAttention):
    r"""Softmax attention, estimated at linear cost with random features of its exponential kernel.

    $$ o_i = \frac{\sum_j \varphi(d^{-1/4} q_i)^\top \varphi(d^{-1/4} k_j) \, v_j}
                  {\sum_j \varphi(d^{-1/4} q_i)^\top \varphi(d^{-1/4} k_j)}, \qquad
       \mathbb{E} \, \varphi(x)^\top \varphi(y) = e^{x^\top y} $$

    `form` chooses between `feature.positive` and `feature.cosh`; k is `num_features`. Numerator and divisor are right
    on average, and the error of their quotient falls as 1/√k. Choromanski et al. 2020, arXiv:2009.14794.

    >>> q, k, v = torch.randn(3, 100, 16) / 2
    >>> wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    >>> few, many = (PerformerAttention(16, size)(q, k, v) - wanted for size in (16, 4096))
    >>> bool(many.norm() < few.norm() / 4)
    True
    """

    feature_map: PositiveFeatures

    def __init__(
        self,
        dim: Count,
        num_features: Count = 256,
        *,
        form: Form = "positive",
        orthogonal: bool = True,
        chunk_size: Count = 64,
    ):
        features = PositiveFeatures if form == "positive" else CoshFeatures
        super().__init__(features(dim, num_features, orthogonal=orthogonal), chunk_size=chunk_size)
        self.dim, self.num_features, self.form, self.orthogonal = dim, num_features, form, orthogonal

    def forward(
        self,
        queries: Float[Tensor, "*batch queries {self.dim}"],
        keys: Float[Tensor, "*batch keys {self.dim}"],
        values: Float[Tensor, "*batch keys value_dim"],
        mask: Bool[Tensor, "*#batch 1 keys"] | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch queries value_dim"]:
        return super().forward(queries, keys, values, mask, is_causal=is_causal)

    def redraw(self, generator: torch.Generator | None = None) -> None:
        """New random features. A state of `step` is of the old ones, and is worth nothing any more."""
        self.feature_map.redraw(generator)

    def _known_map(self) -> tuple[Map, Tensor | None] | None:
        omega = self.feature_map.omega
        kind = type(self.feature_map) if type(self) is PerformerAttention else None
        if kind is PositiveFeatures:
            return "exp", omega
        return ("exp", torch.cat([omega, -omega])) if kind is CoshFeatures else None

    def _features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return super()._features(x * self.dim**-0.25)


def _same_for_heads(mask: Tensor | None, queries: Tensor) -> Tensor | Literal[False] | None:
    """A mask as one row of keys for each batch, as the kernels take it; False where heads have masks of their own."""
    if mask is None:
        return None
    shape = torch.Size([*queries.shape[:-2], 1, mask.shape[-1]])
    rows = for_scores(mask, shape).expand(shape).squeeze(-2)
    if queries.ndim > 3:
        if rows.shape[-2] > 1 and rows.stride(-2):
            return False
        rows = rows[..., 0, :]
    return rows.reshape(-1, mask.shape[-1])
