"""Position: attention treats its inputs as a set, so where they stand is written into the vectors or into the scores.

Added to the vectors: `LearnedPosition`, `SinusoidalPosition`. Turning queries and keys, but not values:
`RotaryPosition`. Added to the scores: `ALiBi`, `RelativePosition`, `BucketedPosition`, of which the last query stands
at the last key.
"""

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge, MultipleOf
from jaxtyping import Float, Int
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import block
from gradlab.registry import Count, Natural, Positive

Layout = Literal["interleaved", "halves"]
Even = Annotated[int, Ge(2), MultipleOf(2)]
"""The size of vectors whose entries go in pairs."""
Buckets = Annotated[int, Ge(4), MultipleOf(2)]


@block("position.learned", flops="O(n·d)", memory="0")
class LearnedPosition(nn.Module):
    r"""A learned vector for each position, added to what stands there.

    $$ y_p = x_p + w_p $$

    w is `weight`, a table of `max_length` rows: nothing is known of later positions. `offset` is the position of the
    first vector, for decoding with a cache, or a tensor of all positions.

    >>> position = LearnedPosition(max_length=10, dim=4)
    >>> x = torch.zeros(10, 4)
    >>> torch.equal(position(x)[7:], position(x[7:], offset=7))
    True
    """

    def __init__(self, max_length: Count, dim: Count):
        super().__init__()
        self.max_length, self.dim = max_length, dim
        self.weight = nn.Parameter(torch.empty(max_length, dim))
        nn.init.normal_(self.weight, std=0.02)

    def forward(
        self, x: Float[Tensor, "*batch length {self.dim}"], offset: int | Int[Tensor, "*#batch length"] = 0
    ) -> Float[Tensor, "*batch length {self.dim}"]:
        if isinstance(offset, Tensor):
            return x + F.embedding(offset, self.weight)
        stop = offset + x.shape[-2]
        if not 0 <= offset <= stop <= self.max_length:
            raise GradlabError(
                f"position.learned: positions {offset} to {stop - 1} must be within 0 to {self.max_length - 1}."
            )
        return x + self.weight[offset:stop]


@block("position.sinusoidal", flops="O(n·d)", memory="0")
class SinusoidalPosition(nn.Module):
    r"""Sines and cosines of the position at many speeds, added to what stands there.

    $$ y_p = x_p + \mathrm{pe}_p, \qquad
       \mathrm{pe}_{p, 2i} = \sin \frac{p}{b^{2i/d}}, \quad \mathrm{pe}_{p, 2i+1} = \cos \frac{p}{b^{2i/d}} $$

    b is `base`, and p starts from `offset`, which may also be a tensor of all positions. Moving by s turns each pair by
    an angle that depends on s alone, so that a linear map can find what is s places before. With `layout="halves"` all
    sines stand before all cosines; with `rounded` the numbers are those of a table in float32, in every dtype, as in
    Marian. Vaswani et al. 2017, arXiv:1706.03762.

    >>> SinusoidalPosition(4)(torch.zeros(2, 4))
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    def __init__(self, dim: Even, base: Positive = 10000.0, *, layout: Layout = "interleaved", rounded: bool = False):
        super().__init__()
        self.dim, self.base, self.layout, self.rounded = dim, base, layout, rounded

    def forward(
        self, x: Float[Tensor, "*batch length {self.dim}"], offset: int | Int[Tensor, "*#batch length"] = 0
    ) -> Float[Tensor, "*batch length {self.dim}"]:
        angles = _angles(x.double() if self.rounded else x, offset, self.base)
        waves = angles.sin(), angles.cos()
        code = torch.stack(waves, -1).flatten(-2) if self.layout == "interleaved" else torch.cat(waves, -1)
        return x + (code.float() if self.rounded else code).to(x.dtype)


@block("position.rotary", flops="O(n·d)", memory="O(n·d)")
class RotaryPosition(nn.Module):
    r"""Each pair of entries, turned by an angle that grows with the position: for queries and keys, not for values.

    $$ \begin{pmatrix} y_a \\ y_b \end{pmatrix} =
       \begin{pmatrix} \cos p \theta_i & -\sin p \theta_i \\ \sin p \theta_i & \cos p \theta_i \end{pmatrix}
       \begin{pmatrix} x_a \\ x_b \end{pmatrix}, \qquad \theta_i = b^{-2i/d} $$

    Lengths stay as they are, and the product of a query at p and a key at q depends on p - q alone. `layout` says which
    entries are pair i: 2i and 2i + 1 (`interleaved`: RoFormer, GPT-J) or i and i + d/2 (`halves`: GPT-NeoX, Llama).
    What was trained with one does not fit the other. b is `base`; p starts from `offset`, which may also be a tensor of
    all positions. Su et al. 2021, arXiv:2104.09864.

    >>> RotaryPosition(2)(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """

    def __init__(self, dim: Even, base: Positive = 10000.0, *, layout: Layout = "interleaved"):
        super().__init__()
        self.dim, self.base, self.layout = dim, base, layout

    def forward(
        self, x: Float[Tensor, "*batch length {self.dim}"], offset: int | Int[Tensor, "*#batch length"] = 0
    ) -> Float[Tensor, "*batch length {self.dim}"]:
        angles = _angles(x, offset, self.base)
        cos, sin = angles.cos(), angles.sin()
        pairs = (x[..., ::2], x[..., 1::2]) if self.layout == "interleaved" else x.chunk(2, -1)
        a, b = (part.to(angles.dtype) for part in pairs)
        turned = a * cos - b * sin, a * sin + b * cos
        y = torch.stack(turned, -1).flatten(-2) if self.layout == "interleaved" else torch.cat(turned, -1)
        return y.to(x.dtype)


@block("position.alibi", flops="O(h·n·m)", memory="0")
class ALiBi(nn.Module):
    r"""A penalty on the scores that grows with the distance, at a slope of each head's own; nothing is learned.

    $$ b_{hij} = -2^{-8h/H} \, |p_i - j|, \qquad p_i = m - n + i, \qquad h = 1, \dots, H $$

    For H = `num_heads` that is no power of two, the slopes are those of the next smaller one, followed by every other
    one of its double, as in the authors' code. With `is_causal` keys after the query have -∞. n and m are numbers of
    queries and keys, or tensors of their positions. Press et al. 2021, arXiv:2108.12409.

    >>> ALiBi(8, is_causal=True)(2, 3)[0]
    tensor([[-0.5000,  0.0000,    -inf],
            [-1.0000, -0.5000,  0.0000]])
    """

    exponents: Tensor

    def __init__(self, num_heads: Count, *, is_causal: bool = False):
        super().__init__()
        self.num_heads, self.is_causal = num_heads, is_causal
        power = 1 << num_heads.bit_length() - 1  # the largest power of two in it
        whole = torch.arange(1, power + 1) * 8 / power
        between = (torch.arange(num_heads - power) * 2 + 1) * 4 / power
        # Kept instead of the slopes, since they are exact in every dtype.
        self.register_buffer("exponents", torch.cat([whole, between]), persistent=False)

    @property
    def slopes(self) -> Float[Tensor, " {self.num_heads}"]:
        """In float32 or wider."""
        return torch.exp2(-self.exponents.to(torch.promote_types(self.exponents.dtype, torch.float32)))

    def forward(self, n: int | Int[Tensor, " n"], m: int | Int[Tensor, " m"]) -> Float[Tensor, "{self.num_heads} n m"]:
        difference = _differences(n, m, self.exponents.device)
        bias = self.slopes[:, None, None] * -difference.abs()
        if self.is_causal:
            bias = bias.masked_fill(difference > 0, -torch.inf)
        return bias.to(self.exponents.dtype)


@block("position.relative", flops="O(h·n·m)", memory="O(n·m)")
class RelativePosition(nn.Module):
    r"""A learned number for each head and each difference of positions, added to the scores.

    $$ b_{hij} = w_{h, \, \mathrm{clip}(j - p_i, \, -D, \, D)}, \qquad p_i = m - n + i $$

    w is `weight`, with the difference -D first; D is `max_distance`, and what is farther away counts as D. n and m are
    numbers of queries and keys, or tensors of their positions. Shaw et al. 2018, arXiv:1803.02155.

    >>> RelativePosition(num_heads=2, max_distance=8)(3, 5).shape
    torch.Size([2, 3, 5])
    """

    def __init__(self, num_heads: Count, max_distance: Natural):
        super().__init__()
        self.num_heads, self.max_distance = num_heads, max_distance
        self.weight = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, n: int | Int[Tensor, " n"], m: int | Int[Tensor, " m"]) -> Float[Tensor, "{self.num_heads} n m"]:
        difference = _differences(n, m, self.weight.device).clamp(-self.max_distance, self.max_distance)
        return self.weight[:, difference + self.max_distance]


@block("position.bucketed", flops="O(h·n·m)", memory="O(n·m)")
class BucketedPosition(nn.Module):
    r"""A learned number for each head and each bucket of distances, added to the scores: the farther, the wider.

    $$ b_{hij} = w_{h, \, \beta(j - p_i)}, \qquad p_i = m - n + i, \qquad
       \beta(-r) = \begin{cases} r & \text{if } r < E \\
       \min \left( B - 1, \; E + \left\lfloor (B - E) \, \frac{\log(r/E)}{\log(D/E)} \right\rfloor \right)
       & \text{else} \end{cases} $$

    Half of the B buckets of keys before the query, E = B/2, have one distance each, and the widths of the others grow
    with it, so that all from D = `max_distance` on share the last. Later keys have buckets of their own, after those:
    B is half of `num_buckets`. With `is_causal` they are in the first bucket, as are keys at the query's own place, and
    B is `num_buckets`. w is `weight`; n and m are numbers of queries and keys, or tensors of their positions. One block
    may serve all layers of a stack. Raffel et al. 2019 (T5), arXiv:1910.10683.

    >>> bias = BucketedPosition(num_heads=1, num_buckets=8, max_distance=16, is_causal=True)
    >>> bias.bucket(-torch.tensor([0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 99])).tolist()
    [0, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7]
    """

    def __init__(
        self, num_heads: Count, num_buckets: Buckets = 32, max_distance: Count = 128, *, is_causal: bool = False
    ):
        super().__init__()
        self.num_heads, self.num_buckets, self.max_distance = num_heads, num_buckets, max_distance
        self.is_causal = is_causal
        self._before = num_buckets if is_causal else num_buckets // 2  # B
        if max_distance <= self._before // 2:
            raise GradlabError(
                f"position.bucketed: max_distance={max_distance} must be above {self._before // 2}, since so many "
                f"distances have a bucket each."
            )
        self.weight = nn.Parameter(torch.zeros(num_heads, num_buckets))

    def bucket(self, difference: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
        """β of the position of a key minus that of a query."""
        buckets, exact = self._before, self._before // 2
        distance = -difference.clamp(max=0) if self.is_causal else difference.abs()
        # In float32, whose roundings decide on which side of a border a distance is: as where weights were trained.
        growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        wide = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
        bucket = torch.where(distance < exact, distance, wide)
        return bucket if self.is_causal else bucket + buckets * (difference > 0)

    def forward(self, n: int | Int[Tensor, " n"], m: int | Int[Tensor, " m"]) -> Float[Tensor, "{self.num_heads} n m"]:
        return self.weight[:, self.bucket(_differences(n, m, self.weight.device))]


def _angles(x: Tensor, offset: int | Tensor, base: float) -> Tensor:
    """p / b^(2i/d), (length, dim / 2), in float32 or wider: positions above 256 are not distinct in bf16."""
    dtype, (length, dim) = torch.promote_types(x.dtype, torch.float32), x.shape[-2:]
    if isinstance(offset, Tensor):
        positions = offset.to(dtype)
    else:
        positions = torch.arange(offset, offset + length, dtype=dtype, device=x.device)
    return positions[..., None] * base ** (-torch.arange(0, dim, 2, dtype=dtype, device=x.device) / dim)


def _differences(n: int | Tensor, m: int | Tensor, device: torch.device) -> Tensor:
    """The position of key j minus that of query i, (n, m)."""
    keys = m if isinstance(m, Tensor) else torch.arange(m, device=device)
    queries = n if isinstance(n, Tensor) else torch.arange(len(keys) - n, len(keys), device=device)
    return keys - queries[:, None]
