"""Speculative decoding: something fast guesses several tokens, and the model reads them all at once.

The result is as if the model had written alone: the same text when decoding is greedy, the same distribution of texts
when it is by chance. Leviathan et al. 2022, arXiv:2211.17192.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.sizes import at_least
from gradlab.sampling import captured
from gradlab.sampling.captured import Reversible
from gradlab.sampling.choice import Watch, draw
from gradlab.sampling.filters import LogitFilter, SamplingContext, widened
from gradlab.sampling.models import Model, Reader
from gradlab.sampling.page import Page
from gradlab.sampling.rounds import Rounds, by_lookup, by_model
from gradlab.sampling.writing import Writing


@dataclass
class Acceptance:
    """How good guesses were, over all texts that were written with them.

    >>> Acceptance(guesses=8, taken=6, readings=4).rate
    0.75
    """

    guesses: int = 0
    taken: int = 0
    readings: int = 0
    """How often the model was read: each gave the guesses that were taken, and mostly one token of its own."""

    @property
    def rate(self) -> float:
        """The share of guesses that were taken; those behind one that was not count too."""
        return self.taken / self.guesses if self.guesses else 0.0

    def count(self, guesses: Sequence[int], written: Sequence[int]) -> None:
        """One reading of the model."""
        self.add(len(guesses), sum(guess == token for guess, token in zip(guesses, written, strict=False)))

    def add(self, guesses: int, taken: int) -> None:
        """The same, counted already."""
        self.readings += 1
        self.guesses += guesses
        self.taken += taken


@dataclass(frozen=True)
class Draft:
    """Guesses by another model of the same vocabulary, which should be much faster, `ahead` tokens at a time."""

    model: Model
    ahead: int = 4
    acceptance: Acceptance = field(default_factory=Acceptance, compare=False, repr=False)
    """What became of the guesses; it goes on from text to text."""

    def __post_init__(self) -> None:
        at_least(1, "draft", ahead=self.ahead)


@dataclass(frozen=True)
class Lookup:
    """Guesses that the text goes on as it did before, where its last tokens, at most `longest` of them, stood last.

    It costs nothing and is right where a text repeats itself.

    >>> Lookup(longest=2, ahead=3).guess([5, 1, 2, 3, 4, 9, 1, 2])
    [3, 4, 9]
    """

    longest: int = 3
    ahead: int = 8
    acceptance: Acceptance = field(default_factory=Acceptance, compare=False, repr=False)

    def __post_init__(self) -> None:
        at_least(1, "lookup", longest=self.longest, ahead=self.ahead)

    def guess(self, tokens: list[int]) -> list[int]:
        """What followed the last tokens when they last stood in the text."""
        for size in range(min(self.longest, len(tokens) - 1), 0, -1):
            ending = tokens[-size:]
            for start in range(len(tokens) - size - 1, -1, -1):
                if tokens[start : start + size] == ending:
                    return tokens[start + size : start + size + self.ahead]
        return []


AnyDraft: TypeAlias = Draft | Lookup


def speculate(
    model: Model,
    draft: AnyDraft,
    page: Page,
    filters: Sequence[LogitFilter] = (),
    generator: torch.Generator | None = None,
) -> Iterator[list[int]]:
    r"""Write a page of one row, and give the tokens that each reading of the model has added: at least one.

    A guess y, which the draft made with probability q(y), is taken with probability min(1, p(y) / q(y)). If it is not,
    the token is drawn from what p has more than q, and the guesses behind it are void:

    $$ p'(i) \propto \max(0, \; p(i) - q(i)) $$

    Both together give p. Behind the last guess the model adds a token of its own. Without a generator both are greedy,
    and a guess is taken if it is the most probable token.
    """
    if page.rows != 1:
        raise GradlabError(f"speculate: one row at a time, got {page.rows}.")
    verifier = _Verifier(page, filters, generator)
    captured.prepare(page.tokens.device, page.max_new_tokens)
    most = page.width + draft.ahead + 1  # a device reads guesses behind the end too
    reader = Reader(model, 1, most, page.known())
    guesser = _Guesser(draft, verifier, most)
    cache, (known, guessing) = reader.reversible(most), guesser.reversible(most)
    worth = captured.is_worth(page.tokens.device, page.max_new_tokens) and Writing.can(filters)
    if worth and cache is not None and known:
        yield from _replayed(reader, cache, guesser, guessing)
        return
    length = page.start
    while length < page.width:
        room = reader.room(length)
        most = page.width - length - 1
        guesses, drafted = guesser.guess(length, most if room is None else min(most, room))
        page.tokens[0, length : length + len(guesses)] = torch.tensor(guesses, dtype=torch.int64)
        if length == page.start and guesses:
            guesser.want_vocabulary(reader.size_of_vocabulary(page.tokens))
        logits = reader.read(page.tokens, length + len(guesses), last=len(guesses) + 1)[0]
        written = verifier.verify(logits, guesses, drafted, length)
        draft.acceptance.count(guesses, written)
        page.tokens[0, length : length + len(written)] = torch.tensor(written, dtype=torch.int64)
        length += len(written)
        page.end = length  # what stands behind it are guesses that were not taken
        # The last token has been written, but not read.
        reader.go_back(length - 1)
        guesser.go_back(length - 1)
        yield written
        if written[-1] in page.eos:
            break
    verifier.watch.close()


def _replayed(
    reader: Reader, cache: Reversible, guesser: "_Guesser", guessing: Reversible | None
) -> Iterator[list[int]]:
    """The same by rounds that a device replays, from the second token on."""
    verifier, draft = guesser.verifier, guesser.draft
    page = verifier.page
    first = verifier.choose(verifier.filtered(reader.read(page.tokens, page.start)[0, -1], page.start), page.start)
    guesser.read(page.start)
    guesser.want_vocabulary(reader.size_of_vocabulary(page.tokens))
    page.tokens[0, page.start], page.end = first, page.start + 1
    draft.acceptance.count([], [first])
    if first in page.eos or page.end == page.width:
        yield [first]
    else:
        guess = by_model if isinstance(draft, Draft) else by_lookup(draft.longest)
        rounds = Rounds(page, cache, guess, draft.ahead, verifier.filters, verifier.generator, guessing)
        yield [first]  # which bears what comes once
        yield from rounds.write()
        for guesses, taken in rounds.log():
            draft.acceptance.add(guesses, taken)
    verifier.watch.close()


class _Verifier:
    """Decides, in the same way for the draft's tokens and for the model's, how logits become a token."""

    def __init__(self, page: Page, filters: Sequence[LogitFilter], generator: torch.Generator | None) -> None:
        self.page, self.filters, self.generator = page, filters, generator
        self.watch = Watch(page.lengths, page.width, page.tokens.device, page.first)

    def filtered(self, logits: Float[Tensor, " vocabulary"], position: int) -> Float[Tensor, "1 vocabulary"]:
        """The logits of the token at a position, those before it being written."""
        row = widened(logits[None])
        for change in self.filters:
            row = change(row, SamplingContext(self.page.tokens[:, :position], self.page.lengths, first=self.page.first))
        return row

    def choose(self, logits: Float[Tensor, "1 vocabulary"], position: int) -> int:
        """The most probable token, or one by chance."""
        chosen, sound = logits.max(-1)[::-1] if self.generator is None else draw(logits, self._uniform(logits.device))
        self.watch.see(sound, position)
        return int(chosen)

    def verify(
        self, logits: Float[Tensor, "new vocabulary"], guesses: list[int], drafted: list[Tensor], start: int
    ) -> list[int]:
        """The guesses that are taken, and one token more."""
        written: list[int] = []
        for i, guess in enumerate(guesses):
            row = self.filtered(logits[i], start + i)
            if self.generator is None:
                token = self.choose(row, start + i)
            else:
                self.watch.see(row.max(-1).values, start + i)
                token = self._taken(row.softmax(-1, dtype=torch.float64)[0], guess, drafted[i] if drafted else None)
            written.append(token)
            if token != guess or token in self.page.eos:
                return written
        return [*written, self.choose(self.filtered(logits[-1], start + len(guesses)), start + len(guesses))]

    def _taken(self, p: Float64[Tensor, " vocabulary"], guess: int, q: Float64[Tensor, " vocabulary"] | None) -> int:
        """The guess, or another token: in distribution p."""
        if q is None:  # the draft was sure
            q = torch.zeros_like(p).index_fill(0, torch.tensor(guess, device=p.device), 1.0)
        if float(self._uniform(p.device)) * float(q[guess]) < float(p[guess]):
            return guess
        more = (p - q).clamp(min=0)
        more[guess] = 0  # also where rounding has left something
        return int(draw(more.log()[None], self._uniform(p.device))[0]) if float(more.sum()) > 0 else guess

    def _uniform(self, device: torch.device) -> Float64[Tensor, "1 1"]:
        return torch.rand(1, 1, dtype=torch.float64, generator=self.generator).to(device)


class _Guesser:
    """A draft that follows the page."""

    def __init__(self, draft: AnyDraft, verifier: _Verifier, most: int) -> None:
        self.draft, self.verifier, self.page = draft, verifier, verifier.page
        self.reader = Reader(draft.model, 1, most, verifier.page.known()) if isinstance(draft, Draft) else None

    def reversible(self, tokens: int) -> tuple[bool, Reversible | None]:
        """Whether a device can guess up to so many tokens, and the cache by which it reads, where it reads any."""
        cache = None if self.reader is None else self.reader.reversible(tokens)
        return self.reader is None or cache is not None, cache

    def read(self, length: int) -> None:
        """Read the prompt alone."""
        if self.reader is not None:
            self.reader.read(self.page.tokens, length)

    def guess(self, length: int, room: int) -> tuple[list[int], list[Float64[Tensor, " vocabulary"]]]:
        """The next tokens, at most as many as there is room for, and the distributions from which they were drawn."""
        page, count = self.page, min(self.draft.ahead, room)
        if isinstance(self.draft, Lookup):
            return self.draft.guess(page.tokens[0, :length].tolist())[:count], []
        assert self.reader is not None
        guesses, drafted = [], []
        for position in range(length, length + count):
            row = self.verifier.filtered(self.reader.read(page.tokens, position)[0, -1], position)
            if self.verifier.generator is not None:
                drafted.append(row.softmax(-1, dtype=torch.float64)[0])
            guesses.append(self.verifier.choose(row, position))
            page.tokens[0, position] = guesses[-1]
        return guesses, drafted

    def want_vocabulary(self, size: int) -> None:
        """Both must mean the same by a token."""
        if self.reader is not None and self.reader.vocabulary != size:
            raise GradlabError(f"The draft has a vocabulary of {self.reader.vocabulary}, the model one of {size}.")

    def go_back(self, length: int) -> None:
        """Unread what turned out otherwise."""
        if self.reader is not None:
            self.reader.go_back(length)
