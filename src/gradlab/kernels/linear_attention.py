"""Linear attention as a plain function: by kernels on a GPU, by `linear_attention_chunks` elsewhere."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gradlab.kernels import run_on
from gradlab.kernels.linear_attention_chunks import Keys, State, added, read, read_causal

Map = Literal["elu", "relu", "identity", "exp"]
"""φ: elu + 1, relu, nothing, or the positive random features of a Performer, whose directions are `omega`."""

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_LARGEST = 256  # entries of a key or a value


def linear_attention(
    q: Float[Tensor, "*batch n dim"],
    k: Float[Tensor, "*batch m dim"],
    v: Float[Tensor, "*batch m value_dim"],
    mask: Bool[Tensor, "#batch m"] | None = None,
    *,
    feature_map: Map = "elu",
    omega: Float[Tensor, "features dim"] | None = None,
    is_causal: bool = False,
    lengths: Sequence[int] | None = None,
    state: State | None = None,
) -> tuple[Float[Tensor, "*batch n value_dim"], State | None]:
    r"""Outputs, and with `is_causal` the state behind the last key, from which the next rows go on.

    $$ o_i = \frac{\sum_j \varphi(q_i)^\top \varphi(k_j) \, v_j}{\sum_j \varphi(q_i)^\top \varphi(k_j)} $$

    With `is_causal` the sums end at the own position, and n = m. `mask` is true for the keys that take part. `lengths`
    are those of several texts that lie behind each other in the rows of one batch. Random features are those of
    d^-1/4 x, so that they estimate softmax attention. No gradient passes through a state.

    >>> q, k, v = torch.randn(3, 1, 4, 100, 16)
    >>> whole, _ = linear_attention(q, k, v, is_causal=True)
    >>> part, state = linear_attention(q[..., :60, :], k[..., :60, :], v[..., :60, :], is_causal=True)
    >>> rest, _ = linear_attention(q[..., 60:, :], k[..., 60:, :], v[..., 60:, :], is_causal=True, state=state)
    >>> torch.allclose(whole, torch.cat([part, rest], -2), atol=1e-5)
    True
    """
    if takes(q, k, v, feature_map):
        from gradlab.kernels.linear_attention_gpu import linear_attention_on_gpu

        return linear_attention_on_gpu(q, k, v, mask, feature_map, omega, is_causal, lengths, state)
    if lengths is not None:
        return _packed(q, k, v, mask, feature_map, omega, is_causal, lengths, state)
    features, _ = _features(q, feature_map, omega)
    keys = Keys(*_features(k, feature_map, omega), v.to(features.dtype))
    if mask is not None:
        parts = mask.view(len(mask), *[1] * (k.ndim - 3), mask.shape[-1])
        keys = Keys(keys.features * parts[..., None], keys.scale.masked_fill(~parts, -torch.inf), keys.values)
    if not is_causal:
        return read(features, added(keys.nothing, keys)).to(v.dtype), None
    outputs, state = read_causal(features, keys, keys.nothing if state is None else state, chunk=64)
    return outputs.to(v.dtype), state


def takes(q: Tensor, k: Tensor, v: Tensor, feature_map: Map = "elu") -> bool:
    """Whether the kernels are for such tensors."""
    same = q.dtype == k.dtype == v.dtype and q.dtype in _DTYPES and q.device == k.device == v.device
    return same and run_on(q.device) and max(q.shape[-1], v.shape[-1]) <= _LARGEST and min(q.shape[-2], k.shape[-2]) > 0


def _features(x: Tensor, feature_map: Map, omega: Tensor | None) -> tuple[Tensor, Tensor]:
    """φ(x) / e^scale in float32 or wider, and the scale."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    if feature_map == "exp":
        assert omega is not None
        x = x * x.shape[-1] ** -0.25
        logs = x @ omega.to(x.dtype).T - x.square().sum(-1, keepdim=True) / 2 - math.log(len(omega)) / 2
        scale = logs.detach().amax(-1)
        return torch.exp(logs - scale[..., None]), scale
    maps = {"elu": lambda x: torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0))), "relu": torch.relu}
    return maps.get(feature_map, torch.positive)(x), x.new_zeros(x.shape[:-1])


def _packed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    feature_map: Map,
    omega: Tensor | None,
    is_causal: bool,
    lengths: Sequence[int],
    state: State | None,
) -> tuple[Tensor, State | None]:
    """Text by text; states have a row for each."""
    outputs, states, start = [], [], 0
    for i, length in enumerate(lengths):
        rows = slice(start, start + length)
        output, last = linear_attention(
            q[..., rows, :],
            k[..., rows, :],
            v[..., rows, :],
            None if mask is None else mask[..., rows],
            feature_map=feature_map,
            omega=omega,
            is_causal=is_causal,
            state=None if state is None else State(*(x[i : i + 1] for x in state)),
        )
        outputs.append(output)
        states += [last] if last is not None else []
        start += length
    every = State(*map(torch.cat, zip(*states, strict=True))) if is_causal else None
    return torch.cat(outputs, -2), every
