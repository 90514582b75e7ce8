"""The transformer that reads a source and writes a target: in the form of 2017, or normalised before each part."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from gradlab.models.language.settings import Layers
from gradlab.models.language.transformer import (
    DecoderKnobs,
    DecoderSettings,
    PositionName,
    added_position,
    bucketed,
    make_attention,
    make_mlp,
    make_norm,
)
from gradlab.models.registry import models
from gradlab.models.seq2seq.model import PADDING, EncoderDecoderModel, Memory, real, texts_of, token_tables
from gradlab.nn.attention.cache import MemoryCache, StaticCache
from gradlab.nn.transformer import DecoderLayer, EncoderLayer
from gradlab.registry import Natural, Schema
from gradlab.specs import Pair

DecoderLayers = Annotated[Layers | None, "default as many as the encoder has"]


@dataclass(frozen=True, kw_only=True)
class Seq2SeqKnobs(DecoderKnobs):
    """What a recipe may set of an encoder and decoder; with norm_first=false they are those of 2017."""

    layers: Annotated[Layers, "of the encoder"] = 3
    decoder_layers: DecoderLayers = None
    position: Annotated[PositionName, "how positions are encoded"] = "sinusoidal"


@dataclass(frozen=True, kw_only=True)
class Seq2SeqSettings(Seq2SeqKnobs, DecoderSettings):
    """All that they are built by: what it has beside knobs is for weights of others, trained with it."""

    padding: Natural = PADDING
    start: Natural | None = None
    """The token with which targets begin, and the one with which they end, for those who decode."""
    end: Natural | None = None
    embedding_scaled: bool = True
    output_scaled: bool = False
    output_bias: bool = False


class SourceEncoder(nn.Module):
    r"""Every token of a source sees all others.

    $$ M = \mathrm{norm}(E_L \cdots E_1 (\sqrt{d} \, e_{x_1} + p_1, \dots, \sqrt{d} \, e_{x_T} + p_T)) $$

    The padding behind a source is never looked at. The last norm is there where norms come before each part. Buckets of
    positions are shared by all layers, as in T5.
    """

    def __init__(self, embedding: nn.Embedding, context: int, settings: Seq2SeqSettings):
        super().__init__()
        self.settings, self.context = settings, context
        self.embedding, self.position = embedding, added_position(settings, context)
        self.dropout = nn.Dropout(settings.dropout)
        shared = bucketed(settings, is_causal=False) if settings.position == "bucketed" else None
        self.layers = nn.ModuleList(
            EncoderLayer(
                settings.dim,
                settings.heads,
                dropout=settings.dropout,
                norm_first=settings.norm_first,
                attention=make_attention(settings, context, shared),
                mlp=make_mlp(settings),
                norm=lambda features: make_norm(settings, features),
            )
            for _ in range(settings.layers)
        )
        self.norm = make_norm(settings, settings.dim) if settings.norm_first else nn.Identity()

    def forward(self, source: Int64[Tensor, "batch length"]) -> Memory:
        mask = real(source, self.settings.padding)
        x = self.dropout(_placed(self, source))
        for layer in self.layers:
            x = layer(x, mask[:, None])
        return Memory(self.norm(x), mask)


class TargetDecoder(nn.Module):
    r"""Every token of a target sees those before it, and all of the memory.

    $$ z_t = W \, \mathrm{norm}(D_L(\cdots D_1(x_1, \dots, x_t; M) \cdots; M))_t, \qquad
       x_t = \sqrt{d} \, e_{y_t} + p_t $$

    W is the table of embeddings where they are tied. With `output_scaled` the last map reads its inputs divided by √d,
    and `output_bias` adds a bias to the logits.
    """

    def __init__(self, embedding: nn.Embedding, context: int, settings: Seq2SeqSettings):
        super().__init__()
        self.settings, self.context = settings, context
        self.embedding, self.position = embedding, added_position(settings, context)
        # The tokens for which it has positions, or has learned to read them.
        self.limit = context if settings.position in ("learned", "sinusoidal", "rotary") else None
        self.dropout = nn.Dropout(settings.dropout)
        shared = bucketed(settings, is_causal=True) if settings.position == "bucketed" else None
        apart = replace(settings, position="none")  # places of source and target are not compared
        self.layers = nn.ModuleList(
            DecoderLayer(
                settings.dim,
                settings.heads,
                dropout=settings.dropout,
                cross=True,
                norm_first=settings.norm_first,
                attention=make_attention(settings, context, shared),
                cross_attention=make_attention(apart, context),
                mlp=make_mlp(settings),
                norm=lambda features: make_norm(settings, features),
            )
            for _ in range(settings.decoder_layers or settings.layers)
        )
        self.norm = make_norm(settings, settings.dim) if settings.norm_first else nn.Identity()
        self.head = None if settings.tied else nn.Linear(settings.dim, embedding.num_embeddings, bias=False)
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings)) if settings.output_bias else None

    def forward(
        self, target: Int64[Tensor, "batch length"], memory: Memory, *, cache: "TransformerTargetCache | None" = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        y: Tensor = self.norm(self._run(target, memory, cache))
        y = y * self.settings.dim**-0.5 if self.settings.output_scaled else y
        return F.linear(y, self.embedding.weight if self.head is None else self.head.weight, self.bias)

    def _run(self, target: Tensor, memory: Memory, cache: "TransformerTargetCache | None") -> Tensor:
        start = 0 if cache is None else cache.length
        x: Tensor = self.dropout(_placed(self, target, start))
        mask = None if memory.mask is None else memory.mask[:, None]
        for i, layer in enumerate(self.layers):
            caches = {} if cache is None else {"cache": cache.own[i], "memory_cache": cache.looked[i]}
            x = layer(x, memory.states, None, mask, **caches)
        return x

    def alignment(
        self, target: Int64[Tensor, "batch length"], memory: Memory
    ) -> Float[Tensor, "batch length source"] | None:
        """What each position of the source counts where each token is read: the mean over all layers and heads."""
        seen: list[Tensor] = []
        hooks = [
            layer.cross_attention.register_forward_pre_hook(_weighed(seen), with_kwargs=True)  # type: ignore[union-attr]
            for layer in self.layers
            if hasattr(layer.cross_attention.attention, "weights")  # type: ignore[union-attr]
        ]
        try:
            self._run(target, memory, None)
        finally:
            for hook in hooks:
                hook.remove()
        return sum(seen[1:], seen[0]) / len(seen) if seen else None

    def new_cache(self, memory: Memory, max_length: int) -> "TransformerTargetCache":
        """A cache that has read nothing."""
        return TransformerTargetCache(memory, len(self.layers), max_length)


class TransformerTargetCache:
    """Keys and values of a target that grows, and those of its source, which are computed once."""

    def __init__(self, memory: Memory, layers: int, max_length: int):
        self.memory = memory
        self.own = StaticCache(layers, max_length)
        self.looked = [MemoryCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        return self.own.length

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        self.memory = self.memory.take(rows)
        self.own.reorder(rows)
        for cache in self.looked:
            cache.reorder(rows)

    def truncate(self, length: int) -> None:
        self.own.truncate(length)


def _weighed(seen: list[Tensor]) -> Any:
    """A hook that keeps the weights of a call of attention, as the mean of its heads."""

    def hook(attention: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append(attention.weights(*args[:2], mask=kwargs.get("mask")).mean(1))

    return hook


def _placed(stack: SourceEncoder | TargetDecoder, tokens: Tensor, start: int = 0) -> Tensor:
    """The vectors of tokens, as large as those of their places."""
    x: Tensor = stack.embedding(tokens)
    x = x * math.sqrt(stack.settings.dim) if stack.settings.embedding_scaled else x
    return x if stack.position is None else stack.position(x, start)


def reset_parameters(model: nn.Module, settings: Seq2SeqSettings) -> None:
    """As in 2017: matrices whose inputs and outputs vary alike, and vectors of tokens that are as large as places."""
    for name, parameter in model.named_parameters():
        if name.endswith("embedding.weight"):
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5 if settings.embedding_scaled else 1.0)
        elif parameter.ndim >= 2 and "position" not in name and "score_bias" not in name:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


def transformer_seq2seq(inputs: Pair, **values: Any) -> EncoderDecoderModel:
    """A transformer for pairs of texts; `values` are those of `Seq2SeqSettings`."""
    settings: Seq2SeqSettings = Schema(Seq2SeqSettings).read(values, "model")
    texts, tables = texts_of(inputs), token_tables(inputs, settings.dim)
    contexts = [text.context for text in texts]
    model = EncoderDecoderModel(
        SourceEncoder(tables[0], contexts[0], settings), TargetDecoder(tables[1], contexts[1], settings)
    )
    reset_parameters(model, settings)
    return model


@models.register("seq2seq-transformer")
def seq2seq_transformer(inputs: Pair, outputs: int, *, settings: Seq2SeqKnobs) -> nn.Module:
    """A transformer reads the source, and another writes the target, looking at it."""
    return transformer_seq2seq(inputs, **vars(settings))
