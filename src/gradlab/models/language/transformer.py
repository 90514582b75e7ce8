"""The decoder-only transformer: GPT-2 and Llama are two settings of it."""

import inspect
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.decoding import DecodingCache
from gradlab.models.language.settings import Bend, NormName, TransformerSizes
from gradlab.models.registry import models
from gradlab.nn.activations import GELU, activations
from gradlab.nn.attention import MultiheadAttention, ScaledDotAttention
from gradlab.nn.attention.cache import StaticCache
from gradlab.nn.attention.multihead import attentions
from gradlab.nn.normalisation import last_axis_norms
from gradlab.nn.position import (
    ALiBi,
    BucketedPosition,
    Buckets,
    LearnedPosition,
    RelativePosition,
    RotaryPosition,
    SinusoidalPosition,
)
from gradlab.nn.transformer import MLP, DecoderLayer, GatedMLP
from gradlab.registry import Count, Fraction, Part, Positive, Schema
from gradlab.specs import Tokens

PositionName = Literal["none", "learned", "sinusoidal", "rotary", "alibi", "relative", "bucketed"]
Tied = Annotated[bool, "the last map is the table of embeddings"]
KeyHeads = Annotated[Count | None, "of keys and values, each for several of queries; default heads"]


@dataclass(frozen=True, kw_only=True)
class DecoderKnobs(TransformerSizes):
    """What a recipe may set of a decoder; the defaults are the shape of GPT-2, at a small size."""

    key_heads: KeyHeads = None
    attention: Annotated[str, attentions, "of a head; linear and performer cost no square of the length"] = "scaled_dot"
    position: Annotated[PositionName, "how positions are encoded"] = "learned"
    norm: NormName = "layer"
    norm_first: Annotated[bool, "normalise before each part, not after the sum"] = True
    gated: Annotated[bool, "MLPs with a gate"] = False
    tied: Tied = True
    bias: Annotated[bool, "in linear maps"] = True
    activation: Bend = None


@dataclass(frozen=True, kw_only=True)
class DecoderSettings(DecoderKnobs):
    """All that a decoder is built by: what it has beside knobs is for weights of others, trained with it."""

    head_dim: Count | None = None
    attention_scale: Positive | None = None
    attention_dropout: Fraction | None = None
    mlp_dropout: Fraction | None = None
    eps: Positive = 1e-5
    rotary_base: Positive = 10000.0
    sinusoids: Literal["exact", "table"] = "exact"
    """A table has sines before cosines, in float32, as Marian does."""
    buckets: Buckets = 32
    max_distance: Count = 128
    approximate: Literal["none", "tanh"] = "none"


class TransformerLanguageModel(nn.Module):
    r"""A stack of decoder layers between an embedding of the tokens and logits for the next one.

    $$ z_t = W \, \mathrm{norm}(D_L \cdots D_1 (E_{x_1} + p_1, \dots, E_{x_t} + p_t))_t, \qquad
       P(x_{t+1} \mid x_1, \dots, x_t) = \mathrm{softmax}(z_t)_{x_{t+1}} $$

    W is the table E itself where they are tied. `context` is the largest number of tokens it was made for: learned
    positions end there. `settings` are those of `DecoderSettings`. With a cache, tokens are those after the ones it has
    read.

    >>> import torch
    >>> model = TransformerLanguageModel(vocabulary=10, context=8, dim=16, layers=2, heads=2)
    >>> tokens = torch.tensor([[1, 2, 3, 4]])
    >>> cache = model.new_cache(batch=1, max_length=8)
    >>> steps = [model(tokens[:, i : i + 1], cache=cache) for i in range(4)]
    >>> torch.allclose(torch.cat(steps, 1), model(tokens), atol=1e-5)
    True
    """

    def __init__(self, vocabulary: int, context: int, **settings: Any):
        super().__init__()
        self.vocabulary, self.context = vocabulary, context
        self.settings: DecoderSettings = Schema(DecoderSettings).read(settings, "model")
        chosen = self.settings
        # Tokens beyond which it has no positions, or none that it has learned to read.
        self.limit = context if chosen.position in ("learned", "sinusoidal", "rotary") else None
        takes_bias = "bias" in inspect.signature(attentions[chosen.attention].forward).parameters  # type: ignore[attr-defined]
        if chosen.position in ("alibi", "relative", "bucketed") and not takes_bias:
            raise GradlabError(
                f"model.position={chosen.position} is added to scores, which {chosen.attention} attention has not."
            )
        self.embedding = nn.Embedding(vocabulary, chosen.dim)
        self.position = added_position(chosen, context)
        self.dropout = nn.Dropout(chosen.dropout)
        self.layers = nn.ModuleList(_layer(chosen, context) for _ in range(chosen.layers))
        self.norm = make_norm(chosen, chosen.dim) if chosen.norm_first else nn.Identity()
        self.head = None if chosen.tied else nn.Linear(chosen.dim, vocabulary, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As in GPT-2: small normal weights, smaller yet where a layer adds to the stream, of which there are 2 L."""
        for name, parameter in self.named_parameters():
            if parameter.ndim >= 2:
                adds = name.endswith(("out_proj.weight", "linear2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * len(self.layers)) if adds else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self, tokens: Int64[Tensor, "batch length"], *, cache: StaticCache | None = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        return F.linear(self.hidden(tokens, cache=cache), self.output_weight)

    def hidden(
        self, tokens: Int64[Tensor, "batch length"], *, cache: StaticCache | None = None
    ) -> Float[Tensor, "batch length dim"]:
        """What the last map reads: logits are `output_weight` times these."""
        start = 0 if cache is None else cache.length
        x = self.embedding(tokens)
        if self.position is not None:
            x = self.position(x, start)
        x = self.dropout(x)
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if cache is None else cache[i])
        normalised: Tensor = self.norm(x)
        return normalised

    @property
    def output_weight(self) -> Tensor:
        """W, which may be the table of embeddings."""
        return self.embedding.weight if self.head is None else self.head.weight

    def new_cache(self, batch: int, max_length: int) -> DecodingCache:
        """A cache that has read nothing; it has room for `max_length` tokens of each row."""
        return DecodingCache(self, batch, max_length)


def _layer(settings: DecoderSettings, context: int) -> DecoderLayer:
    return DecoderLayer(
        settings.dim,
        settings.heads,
        dropout=settings.dropout,
        norm_first=settings.norm_first,
        attention=make_attention(settings, context),
        mlp=make_mlp(settings),
        norm=lambda features: make_norm(settings, features),
    )


def make_norm(settings: DecoderSettings, features: int) -> nn.Module:
    norm: nn.Module = last_axis_norms.build(Part(settings.norm), normalized_shape=features, eps=settings.eps)
    return norm


def make_attention(settings: DecoderSettings, context: int, score_bias: nn.Module | None = None) -> MultiheadAttention:
    """With a `score_bias` that layers share, or one of its own."""
    head_dim, fused = settings.head_dim or settings.dim // settings.heads, settings.attention == "scaled_dot"
    dropout = settings.dropout if settings.attention_dropout is None else settings.attention_dropout
    return MultiheadAttention(
        settings.dim,
        settings.heads,
        bias=settings.bias,
        attention=ScaledDotAttention(settings.attention_scale, dropout)
        if fused
        else attentions.build(Part(settings.attention), head_dim),
        position=RotaryPosition(head_dim, settings.rotary_base, layout="halves")
        if settings.position == "rotary"
        else None,
        score_bias=_score_bias(settings, context) if score_bias is None else score_bias,
        num_key_value_heads=settings.key_heads,
        head_dim=settings.head_dim,
    )


def make_mlp(settings: DecoderSettings) -> nn.Module:
    dropout = settings.dropout if settings.mlp_dropout is None else settings.mlp_dropout
    options: dict[str, Any] = {"bias": settings.bias, "dropout": dropout}
    if settings.activation is not None:
        options["activation"] = activations.build(settings.activation)
    if settings.gated:
        return GatedMLP(settings.dim, settings.hidden, **options)
    return MLP(settings.dim, settings.hidden, **{"activation": GELU(settings.approximate), **options})


def _score_bias(settings: DecoderSettings, context: int) -> nn.Module | None:
    if settings.position == "alibi":
        return ALiBi(settings.heads)
    if settings.position == "bucketed":
        return bucketed(settings, is_causal=True)
    return RelativePosition(settings.heads, context) if settings.position == "relative" else None


def bucketed(settings: DecoderSettings, *, is_causal: bool) -> BucketedPosition:
    return BucketedPosition(settings.heads, settings.buckets, settings.max_distance, is_causal=is_causal)


def added_position(settings: DecoderSettings, context: int) -> nn.Module | None:
    if settings.position == "learned":
        return LearnedPosition(context, settings.dim)
    if settings.position != "sinusoidal":
        return None
    exact = settings.sinusoids == "exact"
    return SinusoidalPosition(settings.dim, layout="interleaved" if exact else "halves", rounded=not exact)


@models.register("gpt")
def gpt(inputs: Tokens, outputs: int, *, settings: DecoderKnobs) -> nn.Module:
    """A decoder-only transformer language model; the defaults are the shape of GPT-2, at a small size."""
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **vars(settings))
