"""The encoder-only transformer, in which every token sees all others, and two heads for it: BERT and a classifier."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.settings import Bend, NormName, TransformerSizes
from gradlab.models.registry import models
from gradlab.nn.activations import GELU, activations
from gradlab.nn.normalisation import last_axis_norms
from gradlab.nn.position import LearnedPosition
from gradlab.nn.transformer import MLP, EncoderLayer
from gradlab.registry import Natural, Part, Positive, Schema
from gradlab.specs import Tokens

Numbers = Int64[Tensor, "batch length"]
Mask = Bool[Tensor, "batch length"]
Pooling = Literal["first", "mean"]


@dataclass(frozen=True, kw_only=True)
class EncoderKnobs(TransformerSizes):
    """What a recipe may set of an encoder."""

    norm: NormName = "layer"
    norm_first: Annotated[bool, "normalise before each part, not after the sum as BERT does"] = False
    activation: Bend = None


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(EncoderKnobs):
    """All that an encoder is built by: the last four are there for weights of others, which were trained with them."""

    eps: Positive = 1e-12
    types: Natural = 0
    padding: Natural | None = 0
    approximate: Literal["none", "tanh"] = "none"

    def make_norm(self, features: int) -> nn.Module:
        norm: nn.Module = last_axis_norms.build(Part(self.norm), normalized_shape=features, eps=self.eps)
        return norm

    def make_activation(self) -> nn.Module:
        return GELU(self.approximate) if self.activation is None else activations.build(self.activation)


class TransformerEncoder(nn.Module):
    r"""Features of each token, of what stands before and after it: a stack of encoder layers over embeddings.

    $$ y = E_L \cdots E_1 \, \mathrm{norm}(e_{x_t} + p_t + s_{c_t})_{t = 1, \dots, T} $$

    e, p and s are tables of tokens, positions and, where `types` is not 0, of the kinds c of tokens, such as first and
    second sentence; a kind is 0 by default. With `norm_first` the norm is applied after the layers instead, not before
    them. The mask is true at the tokens that may be looked at. Without one, these are all but the token `padding`,
    or all if that is None. `settings` are those of `EncoderSettings`; the defaults are BERT. Devlin et al. 2018,
    arXiv:1810.04805.

    >>> encoder = TransformerEncoder(vocabulary=10, context=8, dim=16, layers=2, heads=2)
    >>> alone, padded = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6, 0, 0]])
    >>> torch.allclose(encoder(padded)[:, :3], encoder(alone), atol=1e-5)
    True
    """

    def __init__(self, vocabulary: int, context: int, **settings: Any):
        super().__init__()
        self.vocabulary, self.context = vocabulary, context
        self.settings: EncoderSettings = Schema(EncoderSettings).read(settings, "model")
        chosen = self.settings
        self.dim = chosen.dim
        self.embedding = nn.Embedding(vocabulary, chosen.dim)
        self.position = LearnedPosition(context, chosen.dim)
        self.types = nn.Embedding(chosen.types, chosen.dim) if chosen.types else None
        self.norm = chosen.make_norm(chosen.dim)
        self.dropout = nn.Dropout(chosen.dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                chosen.dim,
                chosen.heads,
                dropout=chosen.dropout,
                norm_first=chosen.norm_first,
                mlp=MLP(chosen.dim, chosen.hidden, activation=chosen.make_activation()),
                norm=chosen.make_norm,
            )
            for _ in range(chosen.layers)
        )
        self.apply(_small_weights)

    def forward(
        self, tokens: Numbers, mask: Mask | None = None, types: Numbers | None = None
    ) -> Float[Tensor, "batch length {self.dim}"]:
        x = self.position(self.embedding(tokens))
        if self.types is not None:
            x = x + self.types(torch.zeros_like(tokens) if types is None else types)
        elif types is not None:
            raise GradlabError("The encoder has no types of tokens: build it with types=2 or more, or give none.")
        x = self.dropout(x if self.settings.norm_first else self.norm(x))
        mask = self.real(tokens) if mask is None else mask
        for layer in self.layers:
            x = layer(x, None if mask is None else mask[:, None])
        y: Tensor = self.norm(x) if self.settings.norm_first else x
        return y

    def real(self, tokens: Numbers) -> Mask | None:
        """Where the tokens are not padding, if there is such a token."""
        padding = self.settings.padding
        return None if padding is None else tokens != padding


class MaskedLanguageModel(nn.Module):
    r"""An encoder with BERT's head: the logits of the token that stood at each place, before some were hidden.

    $$ z_t = e \, \mathrm{norm}(\mathrm{gelu}(W y_t + b)) + c $$

    y are the features of the encoder and e is its table of embeddings.

    >>> encoder = TransformerEncoder(vocabulary=10, context=8, dim=16, layers=2, heads=2)
    >>> MaskedLanguageModel(encoder)(torch.tensor([[4, 5, 6, 0, 0]])).shape
    torch.Size([1, 5, 10])
    """

    def __init__(self, encoder: TransformerEncoder):
        super().__init__()
        self.encoder = encoder
        self.dense = nn.Linear(encoder.dim, encoder.dim)
        self.activation = encoder.settings.make_activation()
        self.norm = encoder.settings.make_norm(encoder.dim)
        self.bias = nn.Parameter(torch.zeros(encoder.vocabulary))
        _small_weights(self.dense)

    def forward(
        self, tokens: Numbers, mask: Mask | None = None, types: Numbers | None = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        y = self.norm(self.activation(self.dense(self.encoder(tokens, mask, types))))
        return F.linear(y, self.encoder.embedding.weight, self.bias)


class TextClassifier(nn.Module):
    r"""An encoder, the features of a whole text, and logits of its classes.

    $$ z = V \tanh(W y_1 + b) + c \qquad \text{or} \qquad z = V \frac{1}{|R|} \sum_{t \in R} y_t + c $$

    With `pooling="first"`, as in BERT, the first token stands for the text; with `"mean"` all of R, the tokens that
    may be looked at. `dropout` is of the pooled features.

    >>> encoder = TransformerEncoder(vocabulary=10, context=8, dim=16, layers=2, heads=2)
    >>> TextClassifier(encoder, classes=3)(torch.tensor([[4, 5, 6, 0, 0]])).shape
    torch.Size([1, 3])
    """

    def __init__(self, encoder: TransformerEncoder, classes: int, *, pooling: Pooling = "first", dropout: float = 0.0):
        super().__init__()
        self.encoder, self.classes, self.pooling = encoder, classes, pooling
        self.pooler = nn.Linear(encoder.dim, encoder.dim) if pooling == "first" else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.dim, classes)
        for linear in (self.pooler, self.head):
            _small_weights(linear)

    def forward(
        self, tokens: Numbers, mask: Mask | None = None, types: Numbers | None = None
    ) -> Float[Tensor, "batch {self.classes}"]:
        mask = self.encoder.real(tokens) if mask is None else mask
        y = self.encoder(tokens, mask, types)
        if self.pooling == "first":
            pooled = torch.tanh(self.pooler(y[:, 0]))
        elif mask is None:
            pooled = y.mean(1)
        else:
            # A text of padding alone has no mean, and gets zeros.
            pooled = (y * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        logits: Tensor = self.head(self.dropout(pooled))
        return logits


def _small_weights(module: nn.Module) -> None:
    """As in BERT: normal weights of standard deviation 0.02, and no biases."""
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.ndim >= 2:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


@models.register("bert")
def bert(inputs: Tokens, outputs: int, *, settings: EncoderKnobs) -> nn.Module:
    """A transformer that fills in hidden tokens: every place sees all others. The token 0 is padding, and not seen."""
    return MaskedLanguageModel(TransformerEncoder(inputs.vocabulary, inputs.context, **vars(settings)))


@models.register("bert-classifier")
def bert_classifier(
    inputs: Tokens,
    outputs: int,
    *,
    settings: EncoderKnobs,
    pooling: Annotated[Pooling, "what stands for the text: its first token, or the mean of all"] = "first",
) -> nn.Module:
    """A transformer encoder that sorts texts into classes. The token 0 is padding, and not seen."""
    encoder = TransformerEncoder(inputs.vocabulary, inputs.context, **vars(settings))
    return TextClassifier(encoder, outputs, pooling=pooling, dropout=settings.dropout)
