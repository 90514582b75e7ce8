"""Recurrent language models: all that was read is in a state of fixed size."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.settings import Layers
from gradlab.models.registry import models
from gradlab.nn.plain import is_itself, is_plain
from gradlab.nn.recurrent import by_cell
from gradlab.nn.recurrent.cache import StateCache
from gradlab.registry import Count, Fraction, Schema
from gradlab.specs import Tokens

Cell = Literal["rnn", "lstm", "gru"]


@dataclass(frozen=True, kw_only=True)
class RecurrentSizes:
    """Which recurrent layers a model has."""

    cell: Annotated[Cell, "the kind of recurrent layer"] = "lstm"
    layers: Annotated[Layers, "recurrent layers, one above the other"] = 2
    dim: Annotated[Count, "features of a token"] = 128
    hidden: Annotated[Count | None, "units of a layer; default dim"] = None
    dropout: Annotated[Fraction, "probability of dropping a feature, between layers too"] = 0.0

    @property
    def units(self) -> int:
        """Of a layer."""
        return self.dim if self.hidden is None else self.hidden

    def make_layers(self, width: int) -> nn.ModuleList:
        """The layers, each but the first over so many features of the one below it.

        One by one: of several layers together, cuDNN would draw the dropout between them from a state of its own, which
        no checkpoint can hold. An LSTM first remembers: with a forget gate half closed, a token is forgotten after two
        more. Jozefowicz et al. 2015.
        """
        kind = by_cell[self.cell]
        layers = nn.ModuleList(kind(width if i else self.dim, self.units, batch_first=True) for i in range(self.layers))
        if self.cell == "lstm":
            for layer in layers:
                nn.init.ones_(cast(Tensor, layer.bias_ih_l0)[self.units : 2 * self.units])
        return layers


@dataclass(frozen=True, kw_only=True)
class RecurrentSettings(RecurrentSizes):
    """What a recurrent language model is built by."""

    tied: Annotated[bool, "the last map is the table of embeddings"] = False


class RecurrentLanguageModel(nn.Module):
    r"""An embedding of the tokens, recurrent layers, and logits for the next token.

    $$ h_t = \mathrm{cell}(E_{x_t}, h_{t-1}), \qquad z_t = W h_t + b $$

    W is the table E where they are tied, which needs as many features as hidden units. A window starts from the state
    0, or with a cache from the state that is in it, and the gradient goes back to its first token. `settings` are those
    of `RecurrentSettings`.

    >>> model = RecurrentLanguageModel(10, dim=16, layers=2, cell="lstm")
    >>> tokens = torch.tensor([[1, 2, 3, 4]])
    >>> cache = model.new_cache(batch=1, max_length=8)
    >>> steps = [model(tokens[:, i : i + 1], cache=cache) for i in range(4)]
    >>> torch.allclose(torch.cat(steps, 1), model(tokens), atol=1e-5)
    True
    """

    def __init__(self, vocabulary: int, **settings: Any):
        super().__init__()
        self.vocabulary = vocabulary
        self.settings: RecurrentSettings = Schema(RecurrentSettings).read(settings, "model")
        chosen = self.settings
        dim, hidden = chosen.dim, chosen.units
        if chosen.tied and hidden != dim:
            raise GradlabError(f"model.tied=true needs model.hidden ({hidden}) to be model.dim ({dim}).")
        self.embedding = nn.Embedding(vocabulary, dim)
        self.layers = chosen.make_layers(hidden)
        self.dropout = nn.Dropout(chosen.dropout)
        self.head = None if chosen.tied else nn.Linear(hidden, vocabulary)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if chosen.tied else None
        # Features of size 1, which cells tell apart at once, unless they are weights of the last map too.
        nn.init.normal_(self.embedding.weight, std=dim**-0.5 if chosen.tied else 1.0)

    def forward(
        self, tokens: Int64[Tensor, "batch length"], *, cache: StateCache | None = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        before = [None] * len(self.layers) if cache is None or cache.state is None else cache.state
        after = []
        x = self.dropout(self.embedding(tokens))
        for layer, state in zip(self.layers, before, strict=True):
            x, state = layer(x, state)
            x = self.dropout(x)
            after.append(state)
        if cache is not None:
            cache.update(after, steps=tokens.shape[1])
        logits: Tensor = self.head(x) if self.head is not None else F.linear(x, self.embedding.weight, self.bias)
        return logits

    def new_cache(self, batch: int, max_length: int) -> "RecurrentCache":
        """A state that has read nothing."""
        return RecurrentCache(self)


class RecurrentCache(StateCache):
    """The state of such a model; after `hold`, a token of each row can be read by operations that a device replays."""

    def __init__(self, model: RecurrentLanguageModel):
        super().__init__(batch_axis=1)
        self._model = model

    @property
    def can_step(self) -> bool:
        """Whether every part is known to do the same on each call."""
        model = self._model
        parts = [model.embedding, model.dropout, *model.layers, *([] if model.head is None else [model.head])]
        itself = is_itself(model, RecurrentLanguageModel.forward) and all(map(is_plain, parts))
        return itself and not torch.is_autocast_enabled("cuda")

    def hold(self, *, reordered: bool = True) -> list[Tensor]:
        return super().hold()

    @torch.inference_mode()
    def step(self, tokens: Int64[Tensor, "batch 1"]) -> Float[Tensor, "batch 1 vocabulary"]:
        """The logits behind one more token of each row. The host counts it by `moved`."""
        scratch = StateCache(batch_axis=1)
        scratch.update(self.state, self.length)
        logits: Tensor = self._model(tokens, cache=scratch)
        self.overwrite(scratch.state)
        return logits


@models.register("rnn")
def rnn(inputs: Tokens, outputs: int, *, settings: RecurrentSettings) -> nn.Module:
    """A recurrent language model: RNN, LSTM or GRU."""
    return RecurrentLanguageModel(inputs.vocabulary, **vars(settings))
