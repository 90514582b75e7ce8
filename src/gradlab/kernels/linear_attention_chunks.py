"""Causal attention by sums over keys, all chunks of a text at once: in PyTorch, for any device and any features.

What a chunk needs of the keys before it are their sums. Those of all chunks are made by one product, and added up by a
scan in which each level has half as many as the one before.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class State(NamedTuple):
    """What later queries need of all keys and values so far, whatever their number. S and z are divided by e^top."""

    total: Float[Tensor, "*batch features value_dim"]
    """S = Σⱼ φ(kⱼ) vⱼᵀ"""

    weight: Float[Tensor, "*batch features"]
    """z = Σⱼ φ(kⱼ)"""

    top: Float[Tensor, "*batch"]
    """The logarithm of the largest feature yet: what is divided by it neither overflows nor vanishes as a whole."""


class Keys(NamedTuple):
    """Keys as φ(k) = e^scale · features, and their values. One that takes no part has the scale -∞."""

    features: Float[Tensor, "*batch keys features"]
    scale: Float[Tensor, "*batch keys"]
    values: Float[Tensor, "*batch keys value_dim"]

    def part(self, start: int, stop: int) -> "Keys":
        return Keys(self.features[..., start:stop, :], self.scale[..., start:stop], self.values[..., start:stop, :])

    @property
    def nothing(self) -> State:
        """The state before the first of these keys."""
        batch, features, values = self.scale.shape[:-1], self.features.shape[-1], self.values.shape[-1]
        lowest = torch.finfo(self.scale.dtype).min  # not -∞, since -∞ - -∞ is no number
        return State(
            self.values.new_zeros(*batch, features, values),
            self.features.new_zeros(*batch, features),
            self.scale.new_full(batch, lowest),
        )


def added(state: State, keys: Keys) -> State:
    """S + Σⱼ φ(kⱼ) vⱼᵀ and z + Σⱼ φ(kⱼ), after both were brought to a common unit."""
    top = torch.cat([state.top[..., None], keys.scale], -1).amax(-1)
    old = torch.exp(state.top - top)[..., None]
    features = keys.features * torch.exp(keys.scale - top[..., None])[..., None]
    return State(old[..., None] * state.total + features.mT @ keys.values, old * state.weight + features.sum(-2), top)


def read(q: Float[Tensor, "*batch n features"], state: State) -> Float[Tensor, "*batch n value_dim"]:
    """What queries read that see all keys of a state."""
    return _quotient(q @ state.total, q @ state.weight[..., None])


def read_causal(
    q: Float[Tensor, "*batch n features"], keys: Keys, state: State, chunk: int
) -> tuple[Float[Tensor, "*batch n value_dim"], State]:
    """What queries read that see the state and, of the keys at their own places, those up to their own; and the state
    behind them."""
    n, values = q.shape[-2], torch.cat([keys.values, torch.ones_like(keys.values[..., :1])], -1)
    if not n:
        return keys.values, state
    tops = torch.cat([state.top[..., None], keys.scale], -1).cummax(-1).values[..., 1:]
    c = min(chunk, n)
    q, k, v = _chunks(q, c), _chunks(keys.features, c), _chunks(values, c)
    scale, top = _chunks(keys.scale[..., None], c, -torch.inf), _chunks(tops[..., None], c, torch.inf)
    top = torch.minimum(top, tops[..., -1, None, None, None])  # behind the last key nothing is larger
    ends = top[..., -1, :]  # of each chunk, (…, chunks, 1)
    starts = torch.cat([state.top[..., None, None], ends[..., :-1, :]], -2)
    sums = (k * torch.exp(scale - ends[..., None])).mT @ v
    first = torch.cat([state.total, state.weight[..., None]], -1)[..., None, :, :]
    sums = _scan(torch.cat([first, sums], -3), torch.cat([starts[..., :1, :], ends], -2)[..., None])
    later = torch.ones(c, c, dtype=torch.bool, device=q.device).triu(1)
    weights = (q @ k.mT) * torch.exp((scale.mT - top).masked_fill(later, -torch.inf))
    both = torch.exp(starts[..., None] - top) * (q @ sums[..., :-1, :, :]) + weights @ v
    both = both.flatten(-3, -2)[..., :n, :]
    last = sums[..., -1, :, :]
    return _quotient(both[..., :-1], both[..., -1:]), State(last[..., :-1], last[..., -1], tops[..., -1])


def _chunks(x: Tensor, size: int, fill: float = 0.0) -> Tensor:
    """Rows in chunks, (…, chunks, rows of a chunk, columns), the last filled up."""
    missing = -x.shape[-2] % size
    if missing:
        x = torch.cat([x, x.new_full((*x.shape[:-2], missing, x.shape[-1]), fill)], -2)
    return x.reshape(*x.shape[:-2], -1, size, x.shape[-1])


def _scan(sums: Tensor, units: Tensor) -> Tensor:
    """Each with all before it, (…, chunks, features, values). They are divided by e^unit, which never falls."""
    if sums.shape[-3] == 1:
        return sums
    even, odd = sums[..., ::2, :, :], sums[..., 1::2, :, :]
    even_units, odd_units = units[..., ::2, :, :], units[..., 1::2, :, :]
    pairs, more = odd.shape[-3], even.shape[-3] - 1
    odd = _scan(torch.exp(even_units[..., :pairs, :, :] - odd_units) * even[..., :pairs, :, :] + odd, odd_units)
    grown = torch.exp(odd_units[..., :more, :, :] - even_units[..., 1:, :, :])
    even = torch.cat([even[..., :1, :, :], grown * odd[..., :more, :, :] + even[..., 1:, :, :]], -3)
    both = torch.stack([even[..., :pairs, :, :], odd], -3).flatten(-4, -3)
    return both if more < pairs else torch.cat([both, even[..., -1:, :, :]], -3)


def _quotient(numerator: Tensor, divisor: Tensor) -> Tensor:
    """Zeros where no key takes part, or where rounding has left next to nothing of the divisor."""
    least = torch.finfo(divisor.dtype).tiny ** 0.75  # its inverse, a factor of the derivative, is still a number
    return numerator / torch.where(divisor < least, 1, divisor)
