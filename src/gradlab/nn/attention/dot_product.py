"""Attention by dot products: of the scores that need no parameters the fastest, on PyTorch's fused kernels."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.activations import Argmax
from gradlab.nn.attention.kernels import fused_kernels
from gradlab.nn.attention.masks import Mask, for_scores, masked_softmax, without_later_keys
from gradlab.nn.attention.scores import Attention, Pooled, Values, Weights
from gradlab.nn.blocks import block
from gradlab.registry import Finite, Fraction

Bias = Float[Tensor, "*#batch #n #m"]
_ARGMAX = Argmax()


@block(
    "attention.scaled_dot",
    flops="2·n·m·d + 2·n·m·e",
    memory="O(n), and O(n·m) where PyTorch has no fused kernel: on the CPU if d ≠ e",
    letters="n queries and m keys of d entries and values of e",
)
class ScaledDotAttention(Attention):
    r"""A mean of the values, weighted by the softmax of how far each key points the way the query does.

    $$ O = \mathrm{softmax} \left( \frac{Q K^\top}{\sqrt{d}} \right) V $$

    If the d entries of q and k are independent with variance 1, their product divided by the root has variance 1 too.
    `scale` takes the place of 1/√d: the larger, the sharper. `bias` is added to the scores. With `is_causal` no query
    looks at a later key, where the last query stands at the last key, as it must when keys come from a cache. In
    training, weights are dropped with the probability `dropout`. Vaswani et al. 2017, arXiv:1706.03762.

    `weights` gives the weights, at a cost of O(n·m) memory.

    >>> query, keys = torch.tensor([[1.0, 0.0]]), torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> ScaledDotAttention()(query, keys, torch.tensor([[10.0], [20.0]]))
    tensor([[10.0172]])
    >>> ScaledDotAttention().weights(query, keys)
    tensor([[0.9983, 0.0017]])
    """

    def __init__(self, scale: Finite | None = None, dropout: Fraction = 0.0):
        super().__init__()
        self.scale, self.dropout = scale, dropout

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        scale = queries.shape[-1] ** -0.5 if self.scale is None else self.scale
        return (queries * scale) @ keys.mT

    def weights(
        self,
        queries: Tensor,
        keys: Tensor,
        mask: Mask | None = None,
        *,
        is_causal: bool = False,
        bias: Bias | None = None,
    ) -> Weights:
        scores = self.score(queries, keys)
        if is_causal:
            mask = without_later_keys(mask, scores.shape[-2], scores.shape[-1], scores.device)
        return masked_softmax(scores if bias is None else scores + bias, mask)

    def forward(
        self,
        queries: Float[Tensor, "*batch n d"],
        keys: Float[Tensor, "*batch m d"],
        values: Values,
        mask: Mask | None = None,
        *,
        is_causal: bool = False,
        bias: Bias | None = None,
    ) -> Pooled:
        n, m = queries.shape[-2], keys.shape[-2]
        shape = torch.Size([*queries.shape[:-1], m])
        if mask is not None:
            mask = for_scores(mask, shape)
        # PyTorch's own flag lets the first query stand at the first key, and comes without a mask.
        plain = is_causal and n == m and mask is None and bias is None
        if is_causal and n > 1 and not plain:
            mask = without_later_keys(mask, n, m, queries.device)
        seen = None
        if mask is not None:
            # Fused kernels of some devices make NaN of a row that is all hidden: it sees all, and is put to 0 after.
            seen = mask.any(-1, keepdim=True)
            mask = mask | ~seen
        if bias is not None:
            bias = bias.to(queries.dtype)
            mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
        with fused_kernels(queries, self.training):
            pooled = F.scaled_dot_product_attention(
                _four_axes(queries),
                _four_axes(keys),
                _four_axes(values),
                attn_mask=None if mask is None else _four_axes(mask.expand(shape) if len(shape) > 4 else mask),
                dropout_p=self.dropout if self.training else 0.0,
                is_causal=plain,
                scale=self.scale,
            )
        pooled = pooled.reshape(*queries.shape[:-1], values.shape[-1])
        return pooled if seen is None else pooled.masked_fill(~seen, 0.0)


def _four_axes(x: Tensor) -> Tensor:
    """PyTorch's fused kernels take tensors of four axes: batch, heads, length, size."""
    return x.flatten(0, -4) if x.ndim > 4 else x[(None,) * (4 - x.ndim)]


@block(
    "attention.dot",
    flops="2·n·m·d + 2·n·m·e",
    memory="O(n), and O(n·m) where PyTorch has no fused kernel: on the CPU if d ≠ e",
    letters="n queries and m keys of d entries and values of e",
)
class DotAttention(ScaledDotAttention):
    r"""Attention by the dot product itself, as it is written before the root is put in.

    $$ O = \mathrm{softmax}(Q K^\top) \, V $$

    The variance of a score is d, so for long vectors the softmax takes nearly all from one key, and passes little
    gradient: `attention.scaled_dot` has the scale that mends it.

    >>> entries = torch.eye(6)
    >>> DotAttention().weights(entries[3:4], entries)[0, 3]
    tensor(0.3522)
    """

    def __init__(self) -> None:
        super().__init__(scale=1.0)


@block(
    "attention.hard",
    flops="2·n·m·d + 2·n·m·e",
    memory="O(n·m)",
    letters="n queries and m keys of d entries and values of e",
)
class HardAttention(Attention):
    r"""The value of the key that fits best: a table that is looked up.

    $$ o_i = v_{j^*}, \qquad j^* = \mathrm{argmax}_j \, q_i^\top k_j $$

    It is the limit of softmax(β Q Kᵀ) V as β → ∞, which divides the weight among keys that fit equally well. No
    gradient reaches queries and keys.

    >>> query, keys = torch.tensor([[1.0, 0.0]]), torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> HardAttention()(query, keys, torch.tensor([[10.0], [20.0]]))
    tensor([[10.]])
    """

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        return queries @ keys.mT

    def weights(self, queries: Tensor, keys: Tensor, mask: Mask | None = None) -> Weights:
        scores = self.score(queries, keys)
        if not scores.shape[-1]:
            return scores
        if mask is None:
            return _ARGMAX(scores)  # type: ignore[no-any-return]
        hidden = ~for_scores(mask, scores.shape)
        return _ARGMAX(scores.masked_fill(hidden, torch.finfo(scores.dtype).min)).masked_fill(hidden, 0.0)  # type: ignore[no-any-return]

    def forward(
        self,
        queries: Float[Tensor, "*batch n d"],
        keys: Float[Tensor, "*batch m d"],
        values: Values,
        mask: Mask | None = None,
    ) -> Pooled:
        return self.weights(queries, keys, mask) @ values
