"""Where a position stands: attention treats its inputs as a set, so their order must be written into them.

Either into the vectors, by a code that is added or by a rotation, or into the scores, by a bias for each pair.
"""

import math

import numpy as np

from gradlab.scratch.functions import concatenate, stack
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor


def angles(positions: Array, dim: int, base: float = 10000.0) -> Array:
    """pos / base^(2i/d) for i < d/2: each pair of entries turns at a speed of its own, (positions, d/2)."""
    return positions[:, None] / base ** (np.arange(0, dim, 2) / dim)


def sinusoidal(x: Tensor, offset: int = 0, base: float = 10000.0, *, halves: bool = False) -> Tensor:
    """x + pe, where entries 2i and 2i + 1 of pe, or i and i + d/2, are the sine and cosine of the angle of pair i."""
    turn = angles(_places(x, offset), x.shape[-1], base)
    waves = np.sin(turn), np.cos(turn)
    return x + (np.concatenate(waves, axis=-1) if halves else np.stack(waves, axis=-1).reshape(turn.shape[0], -1))


def learned(x: Tensor, weight: Tensor, offset: int = 0) -> Tensor:
    """x + the rows of a table."""
    return x + weight[offset : offset + x.shape[-2]]


def rotary(x: Tensor, offset: int = 0, base: float = 10000.0, *, halves: bool = False) -> Tensor:
    """(a, b) ← (a cos t - b sin t, a sin t + b cos t) for each pair of entries: neighbours, or d/2 apart."""
    dim = x.shape[-1]
    turn = angles(_places(x, offset), dim, base)
    a, b = (x[..., : dim // 2], x[..., dim // 2 :]) if halves else (x[..., ::2], x[..., 1::2])
    turned = a * np.cos(turn) - b * np.sin(turn), a * np.sin(turn) + b * np.cos(turn)
    return concatenate(turned, axis=-1) if halves else stack(turned, axis=-1).reshape(*x.shape)


def alibi_slopes(heads: int) -> list[float]:
    """2^(-8i/h) for head i of h, a power of two; else those of the next smaller one, and every other one of its double.

    >>> alibi_slopes(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** math.floor(math.log2(heads))
    own = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    return own if power == heads else own + alibi_slopes(2 * power)[::2][: heads - power]


def alibi(heads: int, queries: int, keys: int) -> Array:
    """Minus the slope of a head times the distance, (heads, queries, keys); the last query stands at the last key."""
    return -np.array(alibi_slopes(heads))[:, None, None] * np.abs(_differences(queries, keys))


def relative(weight: Tensor, queries: int, keys: int) -> Tensor:
    """A learned number for each head and each difference of places, from -D to D; larger ones count as D."""
    most = weight.shape[-1] // 2
    return weight[:, np.clip(_differences(queries, keys), -most, most) + most]


def bucketed(weight: Tensor, queries: int, keys: int, most: int = 128, *, causal: bool = False) -> Tensor:
    """A learned number for each head and each bucket of differences of places."""
    buckets = weight.shape[-1] if causal else weight.shape[-1] // 2
    places = [[_bucket(int(d), buckets, most, causal) for d in row] for row in _differences(queries, keys)]
    return weight[:, np.array(places)]


def _bucket(difference: int, buckets: int, most: int, causal: bool) -> int:
    """One each for half of them, then wider and wider until `most`; those of later keys come after all others.

    >>> [_bucket(-r, 4, 8, True) for r in (0, 1, 2, 3, 4, 8, 20)]
    [0, 1, 2, 2, 3, 3, 3]
    """
    if difference > 0:
        return 0 if causal else buckets + _bucket(-difference, buckets, most, causal)
    distance, exact = -difference, buckets // 2
    if distance < exact:
        return distance
    growth = np.log(np.float32(distance / exact)) / np.float32(math.log(most / exact))
    return min(buckets - 1, exact + int(growth * (buckets - exact)))


def _places(x: Tensor, offset: int) -> Array:
    return offset + np.arange(x.shape[-2], dtype=np.float64)


def _differences(queries: int, keys: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Place of the key minus place of the query."""
    return np.arange(keys)[None, :] - np.arange(keys - queries, keys)[:, None]
