"""Transformer layers: attention mixes positions, a small network changes each, and each step is added to its input.

A layer takes its weights in the order of its parts. Inputs are (batch, length, features).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gradlab.scratch.attention import causal_mask, multi_head
from gradlab.scratch.dense import dense
from gradlab.scratch.functions import Mask, gelu, silu
from gradlab.scratch.normalisation import layer_norm
from gradlab.scratch.tensor import Tensor


class AttentionWeights(NamedTuple):
    """The projections of queries, keys and values below one another, and the map that mixes the heads."""

    in_weight: Tensor
    in_bias: Tensor
    out_weight: Tensor
    out_bias: Tensor


class NormWeights(NamedTuple):
    gain: Tensor
    shift: Tensor


class MLPWeights(NamedTuple):
    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor


class LayerWeights(NamedTuple):
    attention: AttentionWeights
    norm1: NormWeights
    norm2: NormWeights
    mlp: MLPWeights


def mlp(x: Tensor, first: Tensor, first_bias: Tensor, second: Tensor, second_bias: Tensor) -> Tensor:
    """y = W₂ gelu(W₁ x + b₁) + b₂, at each position by itself."""
    return dense(gelu(dense(x, first, first_bias)), second, second_bias)


def gated_mlp(x: Tensor, gate: Tensor, first: Tensor, second: Tensor, *biases: Tensor) -> Tensor:
    """y = W₂ (silu(W_g x) ⊙ W₁ x): the gate says how much of each hidden feature passes. Each may have a bias."""
    gate_bias, first_bias, second_bias = biases or (None, None, None)
    return dense(silu(dense(x, gate, gate_bias)) * dense(x, first, first_bias), second, second_bias)


def encoder_layer(
    x: Tensor, heads: int, weights: LayerWeights, mask: Mask | None = None, norm_first: bool = True
) -> Tensor:
    """x' = x + attention(norm x),  y = x' + mlp(norm x'); or with the norms after the sums."""
    x = _added(x, lambda x: multi_head(x, x, x, heads, *weights.attention, mask), weights.norm1, norm_first)
    return _added(x, lambda x: mlp(x, *weights.mlp), weights.norm2, norm_first)


def decoder_layer(
    x: Tensor,
    heads: int,
    weights: LayerWeights,
    memory: Tensor | None = None,
    cross: tuple[AttentionWeights, NormWeights] | None = None,
    memory_mask: Mask | None = None,
    norm_first: bool = True,
) -> Tensor:
    """The encoder's layer, blind to what comes later; between its two parts a look at the memory, if there is one."""
    earlier = causal_mask(x.shape[1])
    x = _added(x, lambda x: multi_head(x, x, x, heads, *weights.attention, earlier), weights.norm1, norm_first)
    if memory is not None and cross is not None:
        attention, norm = cross
        x = _added(x, lambda x: multi_head(x, memory, memory, heads, *attention, memory_mask), norm, norm_first)
    return _added(x, lambda x: mlp(x, *weights.mlp), weights.norm2, norm_first)


def encoder_decoder(
    source: Tensor,
    target: Tensor,
    heads: int,
    encoder: Sequence[LayerWeights],
    decoder: Sequence[tuple[LayerWeights, tuple[AttentionWeights, NormWeights]]],
    norms: tuple[NormWeights, NormWeights],
    mask: Mask | None = None,
    norm_first: bool = True,
) -> Tensor:
    """The encoder's layers make the memory of the source; each of the decoder's layers looks at it."""
    for weights in encoder:
        source = encoder_layer(source, heads, weights, mask, norm_first)
    memory = layer_norm(source, *norms[0])
    for weights, cross in decoder:
        target = decoder_layer(target, heads, weights, memory, cross, mask, norm_first)
    return layer_norm(target, *norms[1])


def _added(x: Tensor, part: Callable[[Tensor], Tensor], norm: NormWeights, norm_first: bool) -> Tensor:
    return x + part(layer_norm(x, *norm)) if norm_first else layer_norm(x + part(x), *norm)
