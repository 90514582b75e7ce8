"""The page on which texts are written: prompts of any lengths, side by side, and room for what follows them.

All rows advance together, position by position, from the end of the shortest prompt. A row whose prompt is longer takes
its own next token there instead of a chosen one. So no position is ever padded on the left, and no model needs a mask.
"""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gradlab.errors import GradlabError

Prompts: TypeAlias = Int[Tensor, "batch length"] | Sequence[Int[Tensor, " _"] | Sequence[int]]
Tokens: TypeAlias = int | Sequence[int] | None


class Page:
    """Tokens (rows, width), of which the prompts are written. Each row may get `max_new_tokens` of its own."""

    def __init__(
        self,
        prompts: Prompts,
        max_new_tokens: int,
        *,
        lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        eos: Tokens = None,
        pad: int | None = None,
        first: int = 0,
    ) -> None:
        if not isinstance(max_new_tokens, int) or max_new_tokens < 1:
            raise GradlabError(f"max_new_tokens must be a whole number of at least 1, got {max_new_tokens!r}.")
        tokens, self.lengths = _read(prompts, lengths)
        self.eos = _tokens("eos", eos)
        self.pad = _tokens("pad", pad)[0] if pad is not None else self.eos[0] if self.eos else 0
        self.rows, self.start, longest = len(tokens), min(self.lengths), max(self.lengths)
        self.max_new_tokens, self.width = max_new_tokens, longest + max_new_tokens
        self.first = first
        """The number of the first row among all examples."""
        self.end = self.start
        """How far all rows are written."""
        self.even = self.start == longest
        self.prompts = torch.tensor(self.lengths, device=tokens.device)
        self.done = torch.zeros(self.rows, dtype=torch.bool, device=tokens.device)
        """Which rows have ended."""
        self._stops = torch.tensor(self.eos, dtype=torch.int64, device=tokens.device)
        self._largest = int(tokens.max())
        self.tokens = tokens.new_full((self.rows, self.width), self.pad)
        behind = torch.arange(longest, device=tokens.device) >= self.prompts[:, None]
        self.tokens[:, :longest] = tokens[:, :longest].masked_fill(behind, self.pad)

    def known(self) -> dict[str, int]:
        """The largest of the tokens that must be in the vocabulary, by what they are."""
        ends = {"eos": max(self.eos)} if self.eos else {}
        return {"tokens": self._largest, **ends, "pad": self.pad}

    def write(self, chosen: Int64[Tensor, " rows"], position: int, look: bool = True) -> bool:
        """Put tokens at a position, where a row goes on; pad, where it has ended. Whether all rows have ended.

        Not to look whether they have is not to wait for the device.
        """
        column = self.tokens.select(1, position)
        column.copy_(self._settled(chosen, column, position))
        return self.wrote(position, look)

    def put(self, chosen: Int64[Tensor, " rows"], position: Int64[Tensor, "1"]) -> Int64[Tensor, " rows"]:
        """The same where the device says; given back is what was put there. The host counts it by `wrote`."""
        column = self.tokens.index_select(1, position).squeeze(1)
        column = self._settled(chosen, column, position)
        self.tokens.index_copy_(1, position, column[:, None])
        return column

    def wrote(self, position: int, look: bool = True) -> bool:
        """A position is written. Whether all rows have ended."""
        self.end = position + 1
        return self.end == self.width or (look and bool(self.eos) and bool(self.done.all()))

    @property
    def is_simple(self) -> bool:
        """Whether what is chosen is written in every row, as it is."""
        return self.even and not self.eos

    def _settled(self, chosen: Tensor, column: Tensor, position: int | Tensor) -> Tensor:
        """What stands at a position of each row, where `column` stood."""
        if self.is_simple:
            return chosen
        chosen = chosen.masked_fill(self.done, self.pad)
        ended = self.is_end(chosen) if self.eos else torch.zeros_like(self.done)
        if not self.even:
            own = self.prompts > position  # the row's own prompt goes on
            chosen = torch.where(own, column, chosen)
            ended = (ended & ~own) | (self.prompts + self.max_new_tokens <= position + 1)
        self.done |= ended
        return chosen

    def cut(self) -> None:
        """Find the place where the last row ended, if more was written since."""
        places = torch.arange(self.width, device=self.tokens.device)
        ends = self.is_end(self.tokens) & (places >= self.prompts[:, None])
        first = torch.where(ends, places, self.width).amin(1) + 1
        self.end = min(self.end, int(torch.minimum(first, self.prompts + self.max_new_tokens).max()))

    def is_end(self, tokens: Int64[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
        """Where a token ends its row."""
        # Compared one by one: torch.isin would sort many of them, and wait for the device.
        return tokens == self.eos[0] if len(self.eos) == 1 else (tokens[..., None] == self._stops).any(-1)


def _read(prompts: Prompts, lengths: Tensor | Sequence[int] | None) -> tuple[Tensor, list[int]]:
    """Prompts as one matrix, and their lengths."""
    if not isinstance(prompts, Tensor):
        if lengths is not None:
            raise GradlabError("lengths go with a matrix of tokens; a list of prompts has its own.")
        texts = [torch.as_tensor(prompt) for prompt in prompts]
        for i, text in enumerate(texts):
            if text.ndim != 1:
                raise GradlabError(f"A list of prompts must have one axis each, got shape {tuple(text.shape)} at {i}.")
        lengths = [len(text) for text in texts]
        empty = [i for i, length in enumerate(lengths) if not length]
        if empty:
            raise GradlabError(f"Prompt {empty[0]} is empty: a model needs at least one token to go on from.")
        if not texts:
            raise GradlabError("There are no prompts.")
        prompts = pad_sequence(texts, batch_first=True)
    if prompts.ndim != 2:
        hint = " One prompt is tokens[None]." if prompts.ndim == 1 else ""
        raise GradlabError(f"tokens must have shape (batch, length), got {tuple(prompts.shape)}.{hint}")
    batch, longest = prompts.shape
    if not batch or not longest:
        raise GradlabError(f"tokens must hold at least one token for each row, got shape {(batch, longest)}.")
    counts = [longest] * batch if lengths is None else [int(length) for length in lengths]
    if len(counts) != batch or not all(1 <= length <= longest for length in counts):
        raise GradlabError(f"lengths must be {batch} numbers from 1 to {longest}, one for each row, got {counts}.")
    if lengths is not None:
        # Whatever stands behind a prompt, it is no token.
        behind = torch.arange(longest) >= torch.tensor(counts)[:, None]
        prompts = prompts.masked_fill(behind.to(prompts.device), 0)
    return _whole(prompts), counts


def _whole(tokens: Tensor) -> Tensor:
    """Tokens as int64, none of them below 0."""
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise GradlabError(f"tokens must be whole numbers, got {tokens.dtype}.")
    if int(tokens.min()) < 0:
        raise GradlabError(f"tokens must be at least 0, got {int(tokens.min())}.")
    return tokens.long()


def _tokens(name: str, value: Tokens) -> tuple[int, ...]:
    """Some tokens, given as one, as several or not at all."""
    tokens = () if value is None else (value,) if isinstance(value, int) else tuple(value)
    if not all(isinstance(token, int) and token >= 0 for token in tokens):
        raise GradlabError(f"{name} must be a token, or tokens, of at least 0, got {value!r}.")
    return tokens
