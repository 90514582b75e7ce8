"""Attention at a cost that grows with the length and not with its square: the sums over the keys are taken first."""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gradlab.nn.attention.features import CoshFeatures, ELUFeatures, PositiveFeatures, PositiveMap
from gradlab.nn.attention.masks import for_scores
from gradlab.nn.blocks import block
from gradlab.registry import Count

Form = Literal["positive", "cosh"]


class State(NamedTuple):
    """What later queries need of all keys and values so far, whatever their number. S and z are divided by e^top."""

    total: Float[Tensor, "*batch features value_dim"]
    """S = Σⱼ φ(kⱼ) vⱼᵀ"""

    weight: Float[Tensor, "*batch features"]
    """z = Σⱼ φ(kⱼ)"""

    top: Float[Tensor, "*batch"]
    """The logarithm of the largest feature yet: what is divided by it neither overflows nor vanishes as a whole."""


@block(
    "attention.linear",
    flops="4·n·d² + 2·n·d, and with `is_causal` 4·n·c·d more",
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
        q, _ = self._features(queries)  # a factor of a query's own is in its numerator and in its divisor
        seen = self._seen(keys, values, mask)
        outputs = self._causal(q, seen) if is_causal else _read(q, _add(_nothing(seen), seen))
        return outputs.to(values.dtype)

    def step(
        self,
        query: Float[Tensor, "*batch dim"],
        key: Float[Tensor, "*batch dim"],
        value: Float[Tensor, "*batch value_dim"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "*batch value_dim"], State]:
        """The output at one more position, and the state after it."""
        q, _ = self._features(query[..., None, :])
        seen = self._seen(key[..., None, :], value[..., None, :], None)
        state = _add(_nothing(seen) if state is None else state, seen)
        return _read(q, state).squeeze(-2).to(value.dtype), state

    def advance(
        self,
        queries: Float[Tensor, "*batch new dim"],
        keys: Float[Tensor, "*batch new dim"],
        values: Float[Tensor, "*batch new value_dim"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "*batch new value_dim"], State]:
        """The outputs at some more positions, each of which sees those before it, and the state after them."""
        q, _ = self._features(queries)
        seen = self._seen(keys, values, None)
        state = _nothing(seen) if state is None else state
        outputs = []
        for start in range(0, q.shape[-2], self.chunk_size):
            stop = start + self.chunk_size
            outputs.append(_read_causal(q[..., start:stop, :], state, seen.part(start, stop)))
            state = _add(state, seen.part(start, stop))
        return torch.cat(outputs, -2).to(values.dtype), state

    def _features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Features of which the largest is 1, and the logarithm of the factor that makes them φ(x)."""
        logs = self.feature_map.log(x)
        scale = logs.detach().amax(-1)
        return torch.exp(logs - scale[..., None]), scale

    def _seen(self, keys: Tensor, values: Tensor, mask: Tensor | None) -> "_Keys":
        features, scale = self._features(keys)
        if mask is not None:
            shape = torch.Size([*scale.shape[:-1], 1, scale.shape[-1]])
            scale = scale.masked_fill(~for_scores(mask, shape).squeeze(-2), -torch.inf)
        return _Keys(features, scale, values.to(features.dtype))

    def _causal(self, q: Tensor, keys: "_Keys") -> Tensor:
        n, m = q.shape[-2], keys.scale.shape[-1]
        shift = m - n  # query i stands at key i + shift
        state = _add(_nothing(keys), keys.part(0, max(shift, 0)))
        outputs = [q.new_zeros(*q.shape[:-2], max(-shift, 0), keys.values.shape[-1])]
        for start in range(max(-shift, 0), n, self.chunk_size):
            stop = min(start + self.chunk_size, n)
            chunk = keys.part(start + shift, stop + shift)
            outputs.append(_read_causal(q[..., start:stop, :], state, chunk))
            state = _add(state, chunk)
        return torch.cat(outputs, -2)


@block(
    "attention.performer",
    flops='8·n·d·k + 2·n·k, and with `is_causal` in chunks of c 2·n·c·(k + d) more; k counts twice with `form="cosh"`',
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

    def _features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return super()._features(x * self.dim**-0.25)


class _Keys(NamedTuple):
    """Keys as φ(k) = e^scale · features, and their values. One that takes no part has the scale -∞."""

    features: Tensor
    scale: Tensor
    values: Tensor

    def part(self, start: int, stop: int) -> "_Keys":
        return _Keys(self.features[..., start:stop, :], self.scale[..., start:stop], self.values[..., start:stop, :])


def _nothing(keys: _Keys) -> State:
    """The state before the first of these keys."""
    batch, features, values = keys.scale.shape[:-1], keys.features.shape[-1], keys.values.shape[-1]
    lowest = torch.finfo(keys.scale.dtype).min  # not -∞, since -∞ - -∞ is no number
    return State(
        keys.values.new_zeros(*batch, features, values),
        keys.features.new_zeros(*batch, features),
        keys.scale.new_full(batch, lowest),
    )


def _add(state: State, keys: _Keys) -> State:
    """S + Σⱼ φ(kⱼ) vⱼᵀ and z + Σⱼ φ(kⱼ), after both were brought to a common unit."""
    top = torch.cat([state.top[..., None], keys.scale], -1).amax(-1)
    old = torch.exp(state.top - top)[..., None]
    features = keys.features * torch.exp(keys.scale - top[..., None])[..., None]
    return State(old[..., None] * state.total + features.mT @ keys.values, old * state.weight + features.sum(-2), top)


def _read(q: Tensor, state: State) -> Tensor:
    return _quotient(q @ state.total, q @ state.weight[..., None])


def _read_causal(q: Tensor, state: State, keys: _Keys) -> Tensor:
    """What queries read that see the state and, of the keys at their own places, those up to their own."""
    tops = torch.cat([state.top[..., None], keys.scale], -1).cummax(-1).values[..., 1:, None]
    later = torch.ones(keys.scale.shape[-1], keys.scale.shape[-1], dtype=torch.bool, device=q.device).triu(1)
    units = torch.exp((keys.scale[..., None, :] - tops).masked_fill(later, -torch.inf))
    weights = units * (q @ keys.features.mT)
    old = torch.exp(state.top[..., None, None] - tops)
    return _quotient(
        old * (q @ state.total) + weights @ keys.values,
        old * (q @ state.weight[..., None]) + weights.sum(-1, keepdim=True),
    )


def _quotient(numerator: Tensor, divisor: Tensor) -> Tensor:
    """Zeros where no key takes part, or where rounding has left next to nothing of the divisor."""
    least = torch.finfo(divisor.dtype).tiny ** 0.75  # its inverse, a factor of the derivative, is still a number
    return numerator / torch.where(divisor < least, 1, divisor)
