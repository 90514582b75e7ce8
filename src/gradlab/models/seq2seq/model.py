"""Encoder and decoder: a source is read once, and a target is written token by token, looking at what was read."""

from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.recurrent.cache import mapped
from gradlab.specs import Pair, Tokens

PADDING = 0
"""The token that fills up a batch of texts; nobody looks at it."""


class Memory(NamedTuple):
    """What an encoder keeps of a source: a state for each of its positions, and one of the whole."""

    states: Float[Tensor, "batch length dim"]
    mask: Bool[Tensor, "batch length"] | None = None
    """True at the positions that are no padding."""

    last: Any = None
    """The state behind the source, for each layer of a recurrent decoder, with the rows on axis 1."""

    def take(self, rows: Int[Tensor, " kept"]) -> "Memory":
        """Row i becomes what row rows[i] was."""
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        last = None if self.last is None else mapped(lambda part: part.index_select(1, rows), self.last)
        return Memory(self.states.index_select(0, rows), mask, last)

    def spread(self, rows: int) -> "Memory":
        """Each row several times, one after the other, so that there are so many."""
        here = len(self.states)
        if rows == here:
            return self
        return self.take(torch.arange(here, device=self.states.device).repeat_interleave(rows // here))


@runtime_checkable
class TargetCache(Protocol):
    """What decoding keeps of a target, beside the memory of its source."""

    memory: Memory

    @property
    def length(self) -> int: ...

    def reorder(self, rows: Int[Tensor, " kept"]) -> None: ...


@runtime_checkable
class Decoder(Protocol):
    """What writes a target."""

    limit: int | None
    """The most tokens of a target that it can read."""

    def __call__(
        self, target: Int64[Tensor, "batch length"], memory: Memory, *, cache: Any = None
    ) -> Float[Tensor, "batch length vocabulary"]:
        """The logits behind each token of a target; with a cache, of those after the ones that it has read."""

    def new_cache(self, memory: Memory, max_length: int) -> TargetCache:
        """A cache that has read nothing."""

    def alignment(
        self, target: Int64[Tensor, "batch length"], memory: Memory
    ) -> Float[Tensor, "batch length source"] | None:
        """What each position of the source counts where each token is read; None for one that does not look."""


class EncoderDecoderModel(nn.Module):
    r"""Any encoder before any decoder.

    $$ M = \mathrm{encode}(x), \qquad
       P(y_{t+1} \mid y_1, \dots, y_t, x) = \mathrm{softmax}(\mathrm{decode}(y_{\le t}, M)_t) $$

    The encoder is a module that makes a `Memory` of a source, be it tokens or a picture.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self, source: Tensor, target: Int64[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocabulary"]:
        logits: Tensor = self.decoder(target, self.encode(source))
        return logits

    def encode(self, source: Tensor) -> Memory:
        memory: Memory = self.encoder(source)
        return memory

    def alignment(
        self, source: Tensor, target: Int64[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length source"] | None:
        """What each position of the source counts for each token of a target that is read."""
        return cast(Decoder, self.decoder).alignment(target, self.encode(source))


class Conditioned:
    """A model with its source: a function of target tokens alone, which is what `sampling` decodes."""

    def __init__(self, model: EncoderDecoderModel, source: Tensor):
        self.decoder = cast(Decoder, model.decoder)
        self.memory = model.encode(source)
        self.limit = self.decoder.limit

    def __call__(
        self, tokens: Int64[Tensor, "batch new"], *, cache: TargetCache | None = None
    ) -> Float[Tensor, "batch new vocabulary"]:
        memory = self.memory.spread(len(tokens)) if cache is None else cache.memory
        return self.decoder(tokens, memory, cache=cache)

    def new_cache(self, batch: int, max_length: int) -> TargetCache:
        return self.decoder.new_cache(self.memory, max_length)


def real(tokens: Int64[Tensor, "batch length"], padding: int = PADDING) -> Bool[Tensor, "batch length"]:
    """Where tokens are no padding."""
    return tokens != padding


def texts_of(pair: Pair) -> tuple[Tokens, Tokens]:
    """Source and target of pairs of texts."""
    if not isinstance(pair.source, Tokens) or not isinstance(pair.target, Tokens):
        raise GradlabError(f"This model is for pairs of texts, and these are {pair}. Take another model.")
    return pair.source, pair.target


def token_tables(pair: Pair, dim: int) -> tuple[nn.Embedding, nn.Embedding]:
    """The vectors of source and target tokens: one table, where the vocabulary is shared."""
    source, target = (nn.Embedding(text.vocabulary, dim) for text in texts_of(pair))
    return source, source if pair.shared else target
