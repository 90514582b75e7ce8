"""Transformers: attention mixes positions, a small network changes each, and every step is added to what was there."""

from collections.abc import Callable, Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.activations import GELU, SiLU
from gradlab.nn.attention.cache import LayerCache, MemoryCache, StaticCache
from gradlab.nn.attention.multihead import AttentionCache, MultiheadAttention
from gradlab.nn.blocks import block
from gradlab.nn.normalisation import LayerNorm
from gradlab.nn.plain import bare
from gradlab.nn.recurrent.cache import StateCache
from gradlab.nn.steps import At, Step, added, affine, normed_affine
from gradlab.registry import Count, Natural, Probability

Norm = Callable[[int], nn.Module]


@block("transformer.mlp", flops="4·n·d·h", memory="O(n·h)")
class MLP(nn.Module):
    r"""Two affine maps with a bend between them, applied to each position by itself.

    $$ y = W_2 \, \sigma(W_1 x + b_1) + b_2 $$

    `hidden` features between them are four times those of x by default; σ is `activation`, by default GELU.

    >>> import torch
    >>> MLP(8)(torch.randn(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        embed_dim: Count,
        hidden: Count | None = None,
        *,
        activation: nn.Module | None = None,
        bias: bool = True,
        dropout: Probability = 0.0,
    ):
        super().__init__()
        hidden = 4 * embed_dim if hidden is None else hidden
        self.embed_dim, self.hidden = embed_dim, hidden
        self.linear1, self.linear2 = nn.Linear(embed_dim, hidden, bias), nn.Linear(hidden, embed_dim, bias)
        self.activation = GELU() if activation is None else activation
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch {self.embed_dim}"]) -> Float[Tensor, "*batch {self.embed_dim}"]:
        y: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return y

    def decoding(self, norm: nn.Module) -> Step:
        """The same of normalised inputs, in evaluation mode; for what is plain."""
        first = normed_affine(norm, self.linear1.weight, self.linear1.bias, self.activation)
        second = affine(self.linear2.weight, self.linear2.bias)

        def step(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
            x, hidden = first(x, delta, at)
            return x, second(hidden, at)

        return step


@block("transformer.gated_mlp", flops="6·n·d·h", memory="O(n·h)")
class GatedMLP(nn.Module):
    r"""An affine map whose hidden features are multiplied by a gate: by how much each of them passes.

    $$ y = W_2 \left( \sigma(W_g x) \odot W_1 x \right) $$

    With three matrices instead of two, `hidden` is by default 8/3 of the features, which keeps the number of weights.
    σ is `activation`, by default SiLU (SwiGLU). Shazeer 2020, arXiv:2002.05202.

    >>> import torch
    >>> GatedMLP(6)(torch.randn(2, 5, 6)).shape
    torch.Size([2, 5, 6])
    """

    def __init__(
        self,
        embed_dim: Count,
        hidden: Count | None = None,
        *,
        activation: nn.Module | None = None,
        bias: bool = False,
        dropout: Probability = 0.0,
    ):
        super().__init__()
        hidden = 8 * embed_dim // 3 if hidden is None else hidden
        self.embed_dim, self.hidden = embed_dim, hidden
        self.gate = nn.Linear(embed_dim, hidden, bias)
        self.linear1, self.linear2 = nn.Linear(embed_dim, hidden, bias), nn.Linear(hidden, embed_dim, bias)
        self.activation = SiLU() if activation is None else activation
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch {self.embed_dim}"]) -> Float[Tensor, "*batch {self.embed_dim}"]:
        y: Tensor = self.linear2(self.dropout(self.activation(self.gate(x)) * self.linear1(x)))
        return y

    def decoding(self, norm: nn.Module) -> Step:
        """The same of normalised inputs, in evaluation mode; for what is plain."""
        normalise, gate, bend = bare(norm), affine(self.gate.weight, self.gate.bias), bare(self.activation)
        first, second = affine(self.linear1.weight, self.linear1.bias), affine(self.linear2.weight, self.linear2.bias)

        def step(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
            x = added(x, delta)
            y = normalise(x)
            return x, second(bend(gate(y, at)).mul_(first(y, at)), at)

        return step


class Layer(nn.Module):
    """What encoder and decoder share: each part is added to its input, normalised before or after."""

    def __init__(
        self,
        name: str,
        embed_dim: int,
        num_heads: int,
        hidden: int | None,
        dropout: float,
        norm_first: bool,
        attention: nn.Module | None,
        mlp: nn.Module | None,
        norm: Norm,
    ):
        super().__init__()
        if mlp is not None and hidden is not None:
            raise GradlabError(f"{name}: hidden={hidden} has no effect, the mlp has its own.")
        self.embed_dim, self.num_heads, self.norm_first = embed_dim, num_heads, norm_first
        self.attention = MultiheadAttention(embed_dim, num_heads, dropout) if attention is None else attention
        self.norm1, self.norm2 = norm(embed_dim), norm(embed_dim)
        self.mlp = MLP(embed_dim, hidden, dropout=dropout) if mlp is None else mlp
        self.dropout = nn.Dropout(dropout)

    def _add(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: nn.Module) -> Tensor:
        """x + part(norm(x)), or norm(x + part(x))."""
        y: Tensor = x + self.dropout(part(norm(x))) if self.norm_first else norm(x + self.dropout(part(x)))
        return y


@block(
    "transformer.encoder",
    flops="8·n·d² + 4·n²·d + 4·n·d·h",
    memory="O(n·d + n·h)",
    letters="n positions of d features, and h in the `hidden` layer",
)
class EncoderLayer(Layer):
    r"""Every position looks at every other, then changes by itself.

    $$ \begin{aligned}
       x' &= x + \mathrm{attention}(\mathrm{norm}_1(x)) \\
       y &= x' + \mathrm{mlp}(\mathrm{norm}_2(x'))
       \end{aligned} $$

    With `norm_first=False` it is the layer of the first transformers, whose norms come after the sums; a deep stack of
    those is harder to train:

    $$ x' = \mathrm{norm}_1(x + \mathrm{attention}(x)), \qquad y = \mathrm{norm}_2(x' + \mathrm{mlp}(x')) $$

    The mask is true where a position may look; for lengths, `length_mask(lengths, n)[:, None]`. Other parts can be put
    in: `attention`, such as `MultiheadAttention` with a rotation or with linear attention, `mlp`, such as `GatedMLP`,
    and `norm`, such as `RMSNorm`. Vaswani et al. 2017, arXiv:1706.03762; Xiong et al. 2020, arXiv:2002.04745.

    >>> import torch
    >>> EncoderLayer(8, num_heads=2)(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        hidden: Count | None = None,
        dropout: Probability = 0.0,
        *,
        norm_first: bool = True,
        attention: nn.Module | None = None,
        mlp: nn.Module | None = None,
        norm: Norm = LayerNorm,
    ):
        name = "transformer.encoder"
        super().__init__(name, embed_dim, num_heads, hidden, dropout, norm_first, attention, mlp, norm)

    def forward(
        self, x: Float[Tensor, "*batch n {self.embed_dim}"], mask: Bool[Tensor, "*#batch #n n"] | None = None
    ) -> Float[Tensor, "*batch n {self.embed_dim}"]:
        x = self._add(x, lambda x: self.attention(x, mask=mask), self.norm1)
        return self._add(x, self.mlp, self.norm2)


@block(
    "transformer.decoder",
    flops="8·n·d² + 4·n²·d + 4·n·d·h, and with `cross` (4·n + 4·m)·d² + 4·n·m·d more for m positions of memory",
    memory="O(n·d + n·h)",
    letters="n positions of d features, and h in the `hidden` layer",
)
class DecoderLayer(Layer):
    r"""Every position looks at itself and those before it, then, if there is one, at a memory, and changes by itself.

    $$ \begin{aligned}
       x' &= x + \mathrm{attention}_{\le}(\mathrm{norm}_1(x)) \\
       x'' &= x' + \mathrm{attention}(\mathrm{norm}_3(x'), M, M) \\
       y &= x'' + \mathrm{mlp}(\mathrm{norm}_2(x''))
       \end{aligned} $$

    The middle line is there with `cross=True`: M is the `memory`, such as an encoder's result. Without it this is the
    layer of a language model. With a `cache`, x are the positions after those of earlier calls: the results are the
    same, and none is computed twice. A `memory_cache` keeps the keys and values of the memory, which then need be given
    once only. Parts can be put in, `cross_attention` too, and norms can come after, as in the encoder.

    >>> import torch
    >>> from gradlab.nn.attention.cache import KeyValueCache
    >>> layer, x = DecoderLayer(8, num_heads=2), torch.randn(3, 5, 8)
    >>> cache = KeyValueCache()
    >>> steps = [layer(x[:, i : i + 1], cache=cache) for i in range(5)]
    >>> torch.allclose(torch.cat(steps, 1), layer(x), atol=1e-6)
    True
    """

    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        hidden: Count | None = None,
        dropout: Probability = 0.0,
        *,
        cross: bool = False,
        norm_first: bool = True,
        attention: nn.Module | None = None,
        cross_attention: nn.Module | None = None,
        mlp: nn.Module | None = None,
        norm: Norm = LayerNorm,
    ):
        name = "transformer.decoder"
        super().__init__(name, embed_dim, num_heads, hidden, dropout, norm_first, attention, mlp, norm)
        self.cross = cross
        if cross_attention is not None and not cross:
            raise GradlabError(f"{name}: cross_attention has no effect with cross=False.")
        if cross:
            usual = MultiheadAttention(embed_dim, num_heads, dropout) if cross_attention is None else cross_attention
            self.cross_attention, self.norm3 = usual, norm(embed_dim)

    def forward(
        self,
        x: Float[Tensor, "*batch n {self.embed_dim}"],
        memory: Float[Tensor, "*batch m {self.embed_dim}"] | None = None,
        mask: Bool[Tensor, "*#batch #n #all_keys"] | None = None,
        memory_mask: Bool[Tensor, "*#batch #n m"] | None = None,
        *,
        cache: AttentionCache | StateCache | None = None,
        memory_cache: MemoryCache | None = None,
    ) -> Float[Tensor, "*batch n {self.embed_dim}"]:
        known = memory is not None or (memory_cache is not None and memory_cache.kept is not None)
        if self.cross != known:
            wanted = "a memory must be given" if self.cross else "no memory can be given"
            raise GradlabError(f"transformer.decoder: cross={self.cross}, so {wanted}.")
        x = self._add(x, lambda x: self.attention(x, mask=mask, is_causal=True, cache=cache), self.norm1)
        if self.cross:
            # One's own attention need not know of caches.
            kept = {} if memory_cache is None else {"cache": memory_cache}
            x = self._add(x, lambda x: self.cross_attention(x, memory, mask=memory_mask, **kept), self.norm3)
        return self._add(x, self.mlp, self.norm2)

    def new_cache(self, batch: int, max_length: int) -> LayerCache | StateCache:
        """What decoding keeps of earlier positions."""
        if type(self.attention) is MultiheadAttention:
            return self.attention.new_cache(batch, max_length)
        return LayerCache(max_length)

    def decoding(self, cache: LayerCache | StateCache) -> Step:
        """The layer for the next positions, in evaluation mode; for what is plain."""
        nothing = nn.Identity()
        inner = (self.norm1, self.norm2) if self.norm_first else (nothing, nothing)
        attend, mlp = self.attention.decoding(inner[0], cache), self.mlp.decoding(inner[1])  # type: ignore[operator]
        norm1, norm2 = bare(self.norm1), bare(self.norm2)

        def before(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor]:
            return mlp(*attend(x, delta, at), at)  # type: ignore[no-any-return]

        def after(x: Tensor, delta: Tensor | None, at: At | None) -> tuple[Tensor, Tensor | None]:
            x = norm1(added(*attend(added(x, delta), None, at)))
            return norm2(added(*mlp(x, None, at))), None

        return before if self.norm_first else after


@block(
    "transformer.encoder_decoder",
    flops="l·(8·n·d² + 4·n²·d + 4·n·d·h) + l·(12·m·d² + 4·n·d² + 4·m²·d + 4·m·n·d + 4·m·d·h)",
    memory="O(l·(n + m)·(d + h))",
    letters="l layers in either stack, n positions of the source and m of the target",
)
class EncoderDecoder(nn.Module):
    r"""A stack of encoder layers reads the source, and a stack of decoder layers writes the target, looking at it.

    $$ M = \mathrm{norm}(E_L \cdots E_1 \, x), \qquad y = \mathrm{norm}(D_L(\cdots D_1(t, M) \cdots, M)) $$

    x and t are embedded already, with their positions. `encode` and `decode` are its halves, for a source that is read
    once and a target that grows. The masks of source and target are true at their real positions. `encoder_layer` and
    `decoder_layer` make the layers, from the settings given here: put in a function that adds parts of your own.

    Vaswani et al. 2017, arXiv:1706.03762.

    >>> import torch
    >>> model = EncoderDecoder(8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)
    >>> model(torch.randn(3, 7, 8), torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        num_encoder_layers: Natural = 6,
        num_decoder_layers: Natural = 6,
        hidden: Count | None = None,
        dropout: Probability = 0.0,
        *,
        norm_first: bool = True,
        norm: Norm = LayerNorm,
        encoder_layer: Callable[..., nn.Module] = EncoderLayer,
        decoder_layer: Callable[..., nn.Module] = DecoderLayer,
    ):
        super().__init__()
        self.embed_dim, self.num_heads, self.norm_first = embed_dim, num_heads, norm_first
        sizes, options = (embed_dim, num_heads, hidden, dropout), {"norm_first": norm_first, "norm": norm}
        self.encoder = nn.ModuleList(encoder_layer(*sizes, **options) for _ in range(num_encoder_layers))
        self.decoder = nn.ModuleList(decoder_layer(*sizes, cross=True, **options) for _ in range(num_decoder_layers))
        self.encoder_norm, self.decoder_norm = norm(embed_dim), norm(embed_dim)

    def forward(
        self,
        source: Float[Tensor, "*batch n {self.embed_dim}"],
        target: Float[Tensor, "*batch m {self.embed_dim}"],
        source_mask: Bool[Tensor, "*batch n"] | None = None,
        target_mask: Bool[Tensor, "*batch m"] | None = None,
    ) -> Float[Tensor, "*batch m {self.embed_dim}"]:
        return self.decode(target, self.encode(source, source_mask), source_mask, target_mask)

    def encode(
        self, source: Float[Tensor, "*batch n {self.embed_dim}"], mask: Bool[Tensor, "*batch n"] | None = None
    ) -> Float[Tensor, "*batch n {self.embed_dim}"]:
        """The memory of a source."""
        for layer in self.encoder:
            source = layer(source, _of_keys(mask))
        memory: Tensor = self.encoder_norm(source)
        return memory

    def decode(
        self,
        target: Float[Tensor, "*batch m {self.embed_dim}"],
        memory: Float[Tensor, "*batch n {self.embed_dim}"] | None,
        memory_mask: Bool[Tensor, "*batch n"] | None = None,
        target_mask: Bool[Tensor, "*batch all_keys"] | None = None,
        *,
        caches: Sequence[AttentionCache | StateCache] | StaticCache | None = None,
        memory_caches: Sequence[MemoryCache] | None = None,
    ) -> Float[Tensor, "*batch m {self.embed_dim}"]:
        """What follows a target; with a cache for each layer, a target that goes on where the last call ended.

        With one of the memory for each, the memory is projected in the first call, and is needed in no other.
        """
        for i, layer in enumerate(self.decoder):
            own = {} if caches is None else {"cache": caches[i]}
            kept = {} if memory_caches is None else {"memory_cache": memory_caches[i]}
            target = layer(target, memory, _of_keys(target_mask), _of_keys(memory_mask), **own, **kept)
        y: Tensor = self.decoder_norm(target)
        return y


def _of_keys(mask: Tensor | None) -> Tensor | None:
    """A mask of positions as one of scores: the same for every query."""
    return None if mask is None else mask[..., None, :]
