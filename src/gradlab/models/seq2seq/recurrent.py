"""Recurrent encoders and decoders: one vector stands for the source, or attention looks back at all of it."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.recurrent import Cell
from gradlab.models.language.settings import Layers
from gradlab.models.registry import models
from gradlab.models.seq2seq.model import EncoderDecoderModel, Memory, token_tables
from gradlab.models.seq2seq.recurrent_encoder import RecurrentEncoder
from gradlab.nn.attention import AdditiveAttention, DotAttention, GeneralAttention, ReducedRankAttention
from gradlab.nn.attention.scores import Attention
from gradlab.nn.recurrent import by_cell
from gradlab.nn.recurrent.cache import StateCache
from gradlab.registry import Count, Fraction
from gradlab.specs import Pair

Score = Literal["none", "dot", "general", "reduced-rank", "additive"]
Form = Literal["luong", "bahdanau"]
States = list[Any]
"""Of each layer: h, or of an LSTM (h, c), with the rows on axis 1."""


@dataclass(frozen=True, kw_only=True)
class DecoderForm:
    """How a recurrent decoder looks at its source."""

    attention: Annotated[Score, "how states of the source are scored; none leaves one vector of the whole source"] = (
        "additive"
    )
    form: Annotated[Form, "look with the state behind a token (luong), or with the one before it (bahdanau)"] = "luong"
    input_feeding: Annotated[bool, "what was looked at is an input of the next step; of form=luong"] = False
    rank: Annotated[Count, "of the scores of attention=reduced-rank"] = 16


@dataclass(frozen=True, kw_only=True)
class RecurrentDecoderSettings(DecoderForm):
    """What a recurrent decoder is built by."""

    cell: Annotated[Cell, "the kind of recurrent layer"] = "lstm"
    layers: Annotated[Layers, "recurrent layers"] = 1
    dim: Annotated[Count, "features of a token"] = 128
    hidden: Annotated[Count, "units of a layer"] = 256
    dropout: Annotated[Fraction, "probability of dropping a feature, between layers too"] = 0.0
    tied: Annotated[bool, "the last map is the table of embeddings of the target; for hidden = dim"] = False


@dataclass(frozen=True, kw_only=True)
class RecurrentSettings(RecurrentDecoderSettings):
    """What a recurrent encoder and decoder are built by, each with as many layers."""

    bidirectional: Annotated[
        bool, "the encoder reads the source from its end too, with half of the units for each direction"
    ] = True


class RecurrentDecoder(nn.Module):
    r"""Recurrent layers that begin with the state behind the source, and may look back at all of its states.

    $$ \alpha_t = \mathrm{softmax}_i \, \mathrm{score}(q_t, h_i), \qquad c_t = \sum_i \alpha_{ti} h_i, \qquad
       z_t = W \tanh(V (c_t, s_t)) + b $$

    s are the states of the top layer. With `form="luong"` the query q is s of the same step, and with `input_feeding`
    the vector tanh(V (c, s)) is an input of the next step, beside the next token. With `form="bahdanau"` q is s of the
    step before, and c an input of this one. Without attention z = W s + b: all that is known of the source is in the
    first state. Sutskever et al. 2014, arXiv:1409.3215; Bahdanau et al. 2014, arXiv:1409.0473; Luong et al. 2015,
    arXiv:1508.04025.
    """

    limit = None

    def __init__(self, embedding: nn.Embedding, memory_dim: int, settings: RecurrentDecoderSettings):
        super().__init__()
        self.settings = settings
        dim, hidden = settings.dim, settings.hidden
        if settings.tied and hidden != dim:
            raise GradlabError(f"model.tied=true needs model.hidden ({hidden}) to be model.dim ({dim}).")
        if settings.input_feeding and (settings.form == "bahdanau" or settings.attention == "none"):
            raise GradlabError("model.input_feeding=true is of attention with model.form=luong. Leave it out.")
        self.attention = _attention(settings, memory_dim)
        self.mix = None if self.attention is None else nn.Linear(memory_dim + hidden, hidden)
        fed = 0 if self.attention is None or not self._by_steps else hidden if settings.input_feeding else memory_dim
        self.embedding, self.dropout = embedding, nn.Dropout(settings.dropout)
        kind = by_cell[settings.cell]
        self.layers = nn.ModuleList(
            kind(hidden if i else dim + fed, hidden, batch_first=True) for i in range(settings.layers)
        )
        vocabulary = embedding.num_embeddings
        self.head = None if settings.tied else nn.Linear(hidden, vocabulary)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if settings.tied else None

    def forward(
        self, target: Int64[Tensor, "batch length"], memory: Memory, *, cache: "RecurrentTargetCache | None" = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        state = None if cache is None else cache.state
        y, _, state = self._read(target, memory, state)
        if cache is not None:
            cache.update(state, target.shape[1])
        y = self.dropout(y)
        logits: Tensor = self.head(y) if self.head is not None else F.linear(y, self.embedding.weight, self.bias)
        return logits

    def alignment(
        self, target: Int64[Tensor, "batch length"], memory: Memory
    ) -> Float[Tensor, "batch length source"] | None:
        """What each position of the source counts where each token is read; None for one that does not look."""
        return self._read(target, memory, None)[1]

    def new_cache(self, memory: Memory, max_length: int) -> "RecurrentTargetCache":
        """A cache that has read nothing."""
        return RecurrentTargetCache(memory)

    @property
    def _by_steps(self) -> bool:
        """Whether a step needs what the one before it looked at."""
        return self.attention is not None and (self.settings.input_feeding or self.settings.form == "bahdanau")

    def _read(
        self, target: Tensor, memory: Memory, state: Any
    ) -> tuple[Float[Tensor, "batch length hidden"], Float[Tensor, "batch length source"] | None, Any]:
        """What the last map reads, the weights of the source, and the state after the target."""
        x = self.dropout(self.embedding(target))
        states, fed = (memory.last, None) if state is None else (*state, None)[:2]
        if not self._by_steps:
            s, states = self._run(x, states)
            y, weights = self._looked(s, memory)
            return y, weights, (states,)
        mixed, looks = [], []
        for t in range(x.shape[1]):
            y, looked, states, fed = self._step(x[:, t : t + 1], states, fed, memory)
            mixed.append(y)
            looks.append(looked)
        return torch.cat(mixed, 1), torch.cat(looks, 1), (states,) if fed is None else (states, fed)

    def _step(
        self, x: Tensor, states: States, fed: Tensor | None, memory: Memory
    ) -> tuple[Tensor, Tensor, States, Tensor | None]:
        if self.settings.form == "bahdanau":
            weights = self._weights(_top(states), memory)
            context = weights @ memory.states
            s, states = self._run(torch.cat([x, context], -1), states)
            return self._mixed(context, s), weights, states, None
        before = x.new_zeros(1, len(x), self.settings.hidden) if fed is None else fed
        s, states = self._run(torch.cat([x, before.transpose(0, 1)], -1), states)
        y, looked = self._looked(s, memory)
        assert looked is not None
        return y, looked, states, y.transpose(0, 1)  # rows on axis 1, as those of the states

    def _run(self, x: Tensor, states: States) -> tuple[Tensor, States]:
        after = []
        for layer, state in zip(self.layers, states, strict=True):
            x, state = layer(x, state)
            after.append(state)
            if layer is not self.layers[-1]:
                x = self.dropout(x)
        return x, after

    def _looked(self, s: Tensor, memory: Memory) -> tuple[Tensor, Tensor | None]:
        if self.attention is None:
            return s, None
        weights = self._weights(s, memory)
        return self._mixed(weights @ memory.states, s), weights

    def _weights(self, query: Tensor, memory: Memory) -> Float[Tensor, "batch length source"]:
        assert self.attention is not None
        return self.attention.weights(query, memory.states, None if memory.mask is None else memory.mask[:, None])

    def _mixed(self, context: Tensor, s: Tensor) -> Tensor:
        assert self.mix is not None
        return torch.tanh(self.mix(torch.cat([context, s], -1)))


class RecurrentTargetCache(StateCache):
    """The state of such a decoder behind the tokens that it has read, and the memory that it looks at."""

    def __init__(self, memory: Memory):
        super().__init__(batch_axis=1)
        self.memory = memory

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        super().reorder(rows)
        self.memory = self.memory.take(rows)


def _top(states: States) -> Float[Tensor, "batch 1 hidden"]:
    """h of the top layer."""
    h: Tensor = states[-1][0] if isinstance(states[-1], tuple) else states[-1]
    return h.transpose(0, 1)


def _attention(settings: RecurrentDecoderSettings, memory_dim: int) -> Attention | None:
    hidden = settings.hidden
    if settings.attention == "none":
        return None
    if settings.attention == "dot":
        if memory_dim != hidden:
            raise GradlabError(
                f"model.attention=dot needs states of the source ({memory_dim} entries) as long as those of the "
                f"decoder ({hidden}). Take model.attention=general, or set model.hidden={memory_dim}."
            )
        return DotAttention()
    if settings.attention == "general":
        return GeneralAttention(hidden, memory_dim)
    if settings.attention == "reduced-rank":
        return ReducedRankAttention(hidden, memory_dim, settings.rank)
    return AdditiveAttention(hidden, memory_dim, hidden)


@models.register("seq2seq-rnn")
def seq2seq_rnn(inputs: Pair, outputs: int, *, settings: RecurrentSettings) -> nn.Module:
    """An RNN, LSTM or GRU reads the source, and another writes the target, with attention or by one vector alone."""
    source, target = token_tables(inputs, settings.dim)
    encoder = RecurrentEncoder(
        source,
        settings.cell,
        settings.hidden,
        settings.layers,
        bidirectional=settings.bidirectional,
        dropout=settings.dropout,
    )
    return EncoderDecoderModel(encoder, RecurrentDecoder(target, settings.hidden, settings))
