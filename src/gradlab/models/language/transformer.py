"""The decoder-only transformer: GPT-2 and Llama are two settings of it."""

import math
from typing import Annotated, Any, Literal, cast

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.decoding import Decoding
from gradlab.models.registry import models
from gradlab.nn.activations import GELU
from gradlab.nn.attention import LinearAttention, MultiheadAttention, PerformerAttention
from gradlab.nn.attention.cache import StaticCache
from gradlab.nn.normalisation import LayerNorm, RMSNorm
from gradlab.nn.position import ALiBi, LearnedPosition, RelativePosition, RotaryPosition, SinusoidalPosition
from gradlab.nn.transformer import MLP, DecoderLayer, GatedMLP
from gradlab.registry import Count, Fraction
from gradlab.specs import Tokens

AttentionName = Literal["softmax", "linear", "performer"]
PositionName = Literal["none", "learned", "sinusoidal", "rotary", "alibi", "relative"]


class TransformerLanguageModel(nn.Module):
    r"""A stack of decoder layers between an embedding of the tokens and logits for the next one.

    $$ z_t = W \, \mathrm{norm}(D_L \cdots D_1 (E_{x_1} + p_1, \dots, E_{x_t} + p_t))_t, \qquad
       P(x_{t+1} \mid x_1, \dots, x_t) = \mathrm{softmax}(z_t)_{x_{t+1}} $$

    W is the table E itself where they are tied. `context` is the largest number of tokens it was made for: learned
    positions end there. With a cache, tokens are those after the ones it has read.

    >>> import torch
    >>> model = TransformerLanguageModel(vocabulary=10, context=8, dim=16, layers=2, heads=2)
    >>> tokens = torch.tensor([[1, 2, 3, 4]])
    >>> cache = model.new_cache(batch=1, max_length=8)
    >>> steps = [model(tokens[:, i : i + 1], cache=cache) for i in range(4)]
    >>> torch.allclose(torch.cat(steps, 1), model(tokens), atol=1e-5)
    True
    """

    def __init__(
        self,
        vocabulary: int,
        context: int,
        *,
        dim: int,
        layers: int,
        heads: int,
        hidden: int | None = None,
        dropout: float = 0.0,
        attention: AttentionName = "softmax",
        position: PositionName = "learned",
        norm: Literal["layer", "rms"] = "layer",
        norm_first: bool = True,
        gated: bool = False,
        tied: bool = True,
        bias: bool = True,
        eps: float = 1e-5,
        rotary_base: float = 10000.0,
        approximate: Literal["none", "tanh"] = "none",
    ):
        super().__init__()
        self.vocabulary, self.context, self.tied = vocabulary, context, tied
        self.settings: dict[str, Any] = {  # to build the same model again
            "vocabulary": vocabulary,
            "context": context,
            "dim": dim,
            "layers": layers,
            "heads": heads,
            "hidden": hidden,
            "dropout": dropout,
            "attention": attention,
            "position": position,
            "norm": norm,
            "norm_first": norm_first,
            "gated": gated,
            "tied": tied,
            "bias": bias,
            "eps": eps,
            "rotary_base": rotary_base,
            "approximate": approximate,
        }
        # Tokens beyond which it has no positions, or none that it has learned to read.
        self.limit = context if position in ("learned", "sinusoidal", "rotary") else None
        if attention != "softmax" and position in ("alibi", "relative"):
            raise GradlabError(f"model.position={position} is added to scores, which {attention} attention has not.")

        def make_norm(features: int) -> nn.Module:
            return LayerNorm(features, eps) if norm == "layer" else RMSNorm(features, eps)

        def make_attention() -> MultiheadAttention:
            return MultiheadAttention(
                dim,
                heads,
                dropout if attention == "softmax" else 0.0,
                bias,
                attention=_inner(attention, dim // heads),
                position=RotaryPosition(dim // heads, rotary_base, layout="halves") if position == "rotary" else None,
                score_bias=_score_bias(position, heads, context),
            )

        def make_mlp() -> nn.Module:
            if gated:
                return GatedMLP(dim, hidden, bias=bias, dropout=dropout)
            return MLP(dim, hidden, activation=GELU(approximate), bias=bias, dropout=dropout)

        self.embedding = nn.Embedding(vocabulary, dim)
        self.position = _added_position(position, context, dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            DecoderLayer(
                dim,
                heads,
                dropout=dropout,
                norm_first=norm_first,
                attention=make_attention(),
                mlp=make_mlp(),
                norm=make_norm,
            )
            for _ in range(layers)
        )
        self.norm = make_norm(dim) if norm_first else nn.Identity()
        self.head = None if tied else nn.Linear(dim, vocabulary, bias=False)
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
        start = 0 if cache is None else cache.length
        x = self.embedding(tokens)
        if self.position is not None:
            x = self.position(x, start)
        x = self.dropout(x)
        for i, layer in enumerate(self.layers):
            x = layer(x, cache=None if cache is None else cache[i])
        return F.linear(self.norm(x), self._head)

    @property
    def _head(self) -> Tensor:
        return self.embedding.weight if self.head is None else self.head.weight

    def new_cache(self, batch: int, max_length: int) -> Decoding:
        """A cache that has read nothing; it has room for `max_length` tokens of each row."""
        layers = cast(list[DecoderLayer], list(self.layers))
        return Decoding(self.embedding, self.position, layers, self.norm, self._head, max_length)


def _inner(name: AttentionName, head_dim: int) -> nn.Module | None:
    if name == "softmax":
        return None
    return LinearAttention() if name == "linear" else PerformerAttention(head_dim)


def _score_bias(name: PositionName, heads: int, context: int) -> nn.Module | None:
    if name == "alibi":
        return ALiBi(heads)
    return RelativePosition(heads, context) if name == "relative" else None


def _added_position(name: PositionName, context: int, dim: int) -> nn.Module | None:
    if name == "learned":
        return LearnedPosition(context, dim)
    return SinusoidalPosition(dim) if name == "sinusoidal" else None


@models.register("gpt")
def gpt(
    inputs: Tokens,
    outputs: int,
    *,
    layers: Annotated[Count, "decoder layers"] = 4,
    heads: Annotated[Count, "of each attention"] = 4,
    dim: Annotated[Count, "features of a token, a multiple of heads"] = 128,
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 4 dim, or 8/3 dim if gated"] = None,
    dropout: Annotated[Fraction, "probability of dropping a feature"] = 0.0,
    attention: Annotated[AttentionName, "linear and performer cost no square of the length"] = "softmax",
    position: Annotated[PositionName, "how a token's place is told"] = "learned",
    norm: Annotated[Literal["layer", "rms"], "the normalisation"] = "layer",
    norm_first: Annotated[bool, "normalise before each part, not after the sum"] = True,
    gated: Annotated[bool, "MLPs with a SiLU gate"] = False,
    tied: Annotated[bool, "the last map is the table of embeddings"] = True,
    bias: Annotated[bool, "in linear maps"] = True,
) -> nn.Module:
    """A decoder-only transformer language model; the defaults are the shape of GPT-2, at a small size."""
    return TransformerLanguageModel(
        inputs.vocabulary,
        inputs.context,
        dim=dim,
        layers=layers,
        heads=heads,
        hidden=hidden,
        dropout=dropout,
        attention=attention,
        position=position,
        norm=norm,
        norm_first=norm_first,
        gated=gated,
        tied=tied,
        bias=bias,
    )
