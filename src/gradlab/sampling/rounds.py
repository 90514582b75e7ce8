"""Speculative decoding on a device: to guess, to read, to verify and to write is one step, recorded and replayed."""

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from gradlab.sampling.captured import Reversible, recorded
from gradlab.sampling.choice import Watch, draw
from gradlab.sampling.filters import LogitFilter, widened
from gradlab.sampling.page import Page

_LOOK_EVERY = 8
"""Rounds after which to look whether the text has ended: to look is to wait for the device."""

Guess = Callable[["Rounds", Float64[Tensor, " numbers"] | None], tuple[Tensor, Tensor, Tensor | None]]
"""Guesses, how many of them count, and the distributions from which they were drawn, if they were."""


class Rounds:
    """The rounds of a page of one row, of which the prompt has been read and the next token written.

    In every round the same number of guesses is read, and its result stays on the device: all memory stays in
    its place, and what was read in vain is written over. `guess` takes numbers from [0, 1) if tokens are drawn.
    """

    def __init__(
        self,
        page: Page,
        cache: Reversible,
        guess: Guess,
        ahead: int,
        filters: Sequence[LogitFilter],
        generator: torch.Generator | None,
        guessing: Reversible | None = None,
    ) -> None:
        device, most = page.tokens.device, page.width - page.end
        self.page, self.cache, self.guess, self.ahead, self.filters = page, cache, guess, ahead, filters
        self.guessing = guessing
        self.text = F.pad(page.tokens, (0, ahead + 1))
        """The page, with room for guesses behind its end."""
        self.length = torch.tensor([page.end], device=device)
        self.places = torch.arange(ahead + 1, device=device)
        self._number = torch.zeros(1, dtype=torch.int64, device=device)
        self._log = torch.zeros(most, 3, dtype=torch.int64, device=device)
        """Of each round the length before it, how many guesses counted, and how many were taken."""
        drawn = None if generator is None else torch.rand(most, 2 * ahead + 1, dtype=torch.float64, generator=generator)
        self._drawn = None if drawn is None else drawn.to(device)
        self.watch = Watch(page.lengths, self.text.shape[1], device, page.first)
        changed = [self.text, self.length, self._number, self._log, self.watch.sound]
        changed += cache.hold(reordered=False, new=ahead + 1)
        changed += [] if guessing is None else guessing.hold(reordered=False)
        _, self.go = recorded(self._round, changed, device)

    def write(self) -> Iterator[list[int]]:
        """Write the page, and give its tokens as they come."""
        page = self.page
        while page.end < page.width:
            fewest = -(-(page.width - page.end) // (self.ahead + 1))
            for _ in range(min(fewest, _LOOK_EVERY) if page.eos else fewest):
                self.go()
            start, page.end = page.end, int(self.length)
            page.tokens[:, start : page.end] = self.text[:, start : page.end]
            ended = bool(page.eos) and bool(page.is_end(page.tokens[:, start : page.end]).any())
            if ended:
                page.cut()
            yield page.tokens[0, start : page.end].tolist()
            if ended:
                break
        self.watch.close(page.end)

    def log(self) -> list[tuple[int, int]]:
        """How many guesses were made and how many taken in each round, up to the end of the text."""
        rounds = self._log[: int(self._number)].tolist()
        end, width = self.page.end, self.page.width
        finished = [(start, min(there, width - start - 1), taken) for start, there, taken in rounds if start < end]
        return [(guesses, min(guesses, taken, end - start)) for start, guesses, taken in finished]

    def last(self) -> Int64[Tensor, "1"]:
        """The token that was written last, and has not been read."""
        return self.text[0].index_select(0, self.length - 1)

    def filtered(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows vocabulary"]:
        """Logits from which a token is chosen."""
        logits = widened(logits)
        for change in self.filters:
            logits = change(logits, None)  # type: ignore[arg-type]
        return logits

    @torch.inference_mode()
    def _round(self) -> Tensor:
        drawn = None if self._drawn is None else self._drawn.index_select(0, self._number)[0]
        guesses, there, q = self.guess(self, drawn)
        logits = self.filtered(self.cache.step(torch.cat([self.last(), guesses])[None])[0])
        sound, best = logits.max(-1)
        if drawn is None:
            taken, written = _leading(guesses == best[:-1]), best
        else:
            p = logits.softmax(-1, dtype=torch.float64)
            taken, token, whole = verified(p, q, guesses, drawn[self.ahead :])
            written = torch.where(self.places < taken, F.pad(guesses, (0, 1)), token)
            sound = torch.where(self.places == taken, sound + 0 * whole, sound)
        at = self.length + self.places
        self.text.index_copy_(1, at, written[None])
        self.watch.sound.index_copy_(0, at, sound[:, None].to(self.watch.sound.dtype))
        self._log.index_copy_(0, self._number, torch.stack([self.length, there, taken], 1))
        self._number.add_(1)
        self.length.copy_((self.length + taken + 1).clamp(max=self.page.width))
        for cache in (self.cache, self.guessing):
            if cache is not None:
                cache.go_back(self.length - 1)  # the last token has been written, but not read
        return self.length


def verified(
    p: Float64[Tensor, "new vocabulary"],
    q: Float64[Tensor, "guesses vocabulary"] | None,
    guesses: Int64[Tensor, " guesses"],
    drawn: Float64[Tensor, " new"],
) -> tuple[Int64[Tensor, "1"], Int64[Tensor, "1"], Float64[Tensor, "1"]]:
    """How many guesses are taken, the token behind them, and a number that is finite if it could be drawn.

    p has a row more than there are guesses: behind the last of them the model adds a token of its own.
    """
    own = guesses[:, None]
    if q is None:  # the draft was sure
        q = torch.zeros_like(p[:-1]).scatter_(1, own, 1.0)
    taken = _leading(drawn[:-1] * q.gather(1, own)[:, 0] < p[:-1].gather(1, own)[:, 0])
    more = (p - F.pad(q, (0, 0, 0, 1))).clamp(min=0)
    more[:-1].scatter_(1, own, 0.0)  # also where rounding has left something
    row = more.index_select(0, taken)
    token, whole = draw(row.log(), drawn[-1:, None])
    nothing = row.sum(-1) == 0  # by rounding alone: the guess is then as good
    guess = F.pad(guesses, (0, 1)).index_select(0, taken)
    return taken, torch.where(nothing, guess, token), torch.where(nothing, 0.0, whole)


def by_model(rounds: Rounds, drawn: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """What the draft writes, token by token."""
    assert rounds.guessing is not None
    token, guesses, q = rounds.last(), [], []
    for i in range(rounds.ahead):
        row = rounds.filtered(rounds.guessing.step(token[None])[0])
        if drawn is None:
            token = row.argmax(-1)
        else:
            q.append(row.softmax(-1, dtype=torch.float64))
            token, _ = draw(row, drawn[i : i + 1, None])
        guesses.append(token)
    rounds.guessing.step(token[None])  # if all guesses are taken, the last of them has been read too
    there = torch.full_like(rounds.length, rounds.ahead)
    return torch.cat(guesses), there, torch.cat(q) if q else None


def by_lookup(longest: int) -> Guess:
    """What stands in the text behind the last place where its last tokens stood before."""

    def guess(rounds: Rounds, drawn: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        text, length = rounds.text[0], rounds.length
        ends = torch.arange(len(text), device=text.device)
        same, size = torch.ones_like(text, dtype=torch.bool), torch.zeros_like(text)
        for i in range(1, longest + 1):  # size: how many tokens before each place are the last of the text
            ending = text.index_select(0, (length - i).clamp(min=0))
            same = same & (text.roll(i) == ending) & (ends >= i) & (length > i)
            size = size + same
        best = torch.where(ends < length, size * len(text) + ends, -1).argmax(0, keepdim=True)
        there = torch.where(size.index_select(0, best) > 0, (length - best).clamp(max=rounds.ahead), 0)
        return text.index_select(0, best + rounds.places[:-1]), there, None

    return guess


def _leading(accepted: Bool[Tensor, " guesses"]) -> Int64[Tensor, "1"]:
    """How many there are before the first that is not accepted."""
    return accepted.long().cumprod(0).sum(0, keepdim=True)
