"""What can be decoded: any function that gives the logits of the next token, and, faster, one that keeps a cache."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.sampling import captured
from gradlab.sampling.captured import CapturedStep, Reversible, Stepping
from gradlab.sampling.writing import Writing

Model = Callable[..., Any]
"""`model(tokens)` gives logits (batch, length, vocabulary), or an object that has them as `logits`. One that can read
only so many tokens says so by an attribute `limit`."""


@runtime_checkable
class Cache(Protocol):
    """What a model keeps of the tokens it has read: keys and values, or a state."""

    @property
    def length(self) -> int:
        """How many tokens of each row it stands for."""

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was. There may be more of them than before, or fewer."""


@runtime_checkable
class Shortened(Protocol):
    """A cache that can go back. It may go back further than it was asked to: its length tells."""

    def truncate(self, length: int) -> None:
        """Forget what came after the first so many tokens."""


@runtime_checkable
class CachedModel(Protocol):
    """A model that reads each token once."""

    def new_cache(self, batch: int, max_length: int) -> Cache:
        """A cache that has read nothing."""

    def __call__(
        self, tokens: Int64[Tensor, "batch new"], *, cache: Cache | None = None
    ) -> Float[Tensor, "batch new vocabulary"]:
        """The logits behind each of the tokens, which come after those that the cache stands for."""


@runtime_checkable
class Reading(Protocol):
    """A cache that reads new tokens by itself, faster than its model does with it."""

    def read(self, tokens: Int64[Tensor, "batch new"], last: int) -> Float[Tensor, "batch last vocabulary"]:
        """The logits behind the last so many of them."""


class Reader:
    """A model that reads a text as it grows: from the start each time, or by a cache where the model has one.

    Of a text that is longer than the model's `limit` it reads a window that slides by half of it, so that a cache is
    filled anew once in so many tokens. Which tokens are seen depends on the length of the text alone, cache or not.
    """

    def __init__(self, model: Model, rows: int, max_length: int, known: Mapping[str, int] | None = None) -> None:
        self.model, self.known = model, known or {}
        """`known` are the largest of the tokens that must be in the vocabulary, by what they are."""
        self.vocabulary: int | None = None
        self._checked = False
        self.cache: Cache | None = None
        self._step: CapturedStep | None = None
        self._writing: Writing | None = None
        self.limit: int | None = getattr(model, "limit", None)
        self._most = max_length if self.limit is None else min(max_length, self.limit)
        self._open(0, rows)

    def _open(self, start: int, rows: int) -> None:
        """Begin to read at a place of the text."""
        self._start = start
        cache: Any = self.cache
        if self._step is not None and isinstance(cache, Shortened):
            cache.truncate(0)  # where it is, for the step that was recorded
            return
        model = self.model
        self.cache = model.new_cache(rows, self._most) if isinstance(model, CachedModel) else None
        self._read = self.cache.read if isinstance(self.cache, Reading) else self._whole

    def _window(self, length: int) -> int:
        """Where it begins to read a text of this length."""
        if self.limit is None or length <= self.limit:
            return 0
        stride = max(1, self.limit // 2)
        return stride * -(-(length - self.limit) // stride)

    def room(self, length: int) -> int | None:
        """How many tokens more it can read at once with a text of this length; None is any."""
        return None if self.limit is None else self._window(length) + self.limit - length

    def read(
        self, tokens: Int64[Tensor, "batch width"], length: int, last: int = 1
    ) -> Float[Tensor, "batch {last} vocabulary"]:
        """The logits behind the last so many of the first `length` tokens; those must be new to it."""
        if (window := self._window(length)) != self._start:
            self._open(window, len(tokens))
        start = self._start + (0 if self.cache is None else self.cache.length)
        new = tokens.narrow(1, start, length - start).contiguous()
        if not self._checked and new.is_cuda:
            self._want_known(new)  # a token outside the vocabulary would be the end of the process there
        try:
            if self._step is not None and self._writing is None and new.shape[1] == last == 1:
                logits = self._step(new)
            elif new.is_cuda:
                with captured.without_plans():
                    logits = self._read(new, last)
            else:
                logits = self._read(new, last)
        except IndexError:
            self._want_known(new)
            raise
        if self.cache is not None and self.cache.length != length - self._start:
            count = length - self._start
            raise GradlabError(f"The model's cache has length {self.cache.length} after {count} tokens were read.")
        if not self._checked:
            self.vocabulary, self._checked = logits.shape[-1], True
            self._want_known(new)
        return logits

    def record(
        self,
        rows: int,
        device: torch.device,
        tokens: int,
        *,
        reordered: bool = False,
        writing: Writing | None = None,
    ) -> None:
        """After the prompts so many tokens of each row come one by one: where it is worth it, a device replays them.

        `reordered` says that rows will change places. What is read from here on is written over by the next reading.
        With `writing`, what is read is also chosen and written: see `wrote`.
        """
        cache: Any = self.cache
        if captured.is_worth(device, tokens) and isinstance(cache, Stepping) and cache.can_step:
            self._step = CapturedStep(cache, rows, device, reordered=reordered, follows=writing)
            self._writing = writing

    def reversible(self, tokens: int) -> Reversible | None:
        """Its cache, if a device can read on by it, and unread, up to so many tokens."""
        cache: Any = self.cache
        fits = self.limit is None or tokens <= self.limit
        return cache if fits and isinstance(cache, Reversible) and cache.can_go_back else None

    def wrote(self, position: int) -> bool:
        """Let the device read, choose and write the token of a position. Whether it does: not where a window begins."""
        if self._step is None or self._writing is None or self._window(position) != self._start:
            return False
        self._step.go()
        return True

    def aim(self, tokens: Int64[Tensor, "batch width"], position: int) -> None:
        """Write on the device which position is next."""
        if self._step is not None and self._writing is not None:
            self._step.tokens.copy_(tokens.narrow(1, position - 1, 1))
            self._writing.position.fill_(position)

    def _whole(self, new: Int64[Tensor, "batch new"], last: int) -> Float[Tensor, "batch {last} vocabulary"]:
        logits = _logits(self.model(new) if self.cache is None else self.model(new, cache=self.cache))
        if not isinstance(logits, Tensor) or logits.ndim != 3 or logits.shape[:2] != new.shape:
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise GradlabError(
                f"The model must give logits of shape (batch={len(new)}, length={new.shape[1]}, vocabulary) "
                f"for tokens of shape {tuple(new.shape)}, got {shape}."
            )
        return logits[:, -last:]

    def reorder(self, rows: Int64[Tensor, " kept"]) -> None:
        """Go on with other rows than before."""
        if self.cache is not None:
            self.cache.reorder(rows)

    def go_back(self, length: int) -> None:
        """Unread what came after the first so many tokens."""
        if self.cache is None or self._start + self.cache.length <= length:
            return
        if length <= self._start:  # a draft was ahead, in the next window
            self._open(self._window(length), 1)
            return
        if not isinstance(self.cache, Shortened):
            raise GradlabError("A draft needs a cache that can go back: it must have truncate(length).")
        self.cache.truncate(length - self._start)

    def size_of_vocabulary(self, tokens: Int64[Tensor, "batch width"]) -> int:
        """How many tokens the model knows, which its answer to any of them tells."""
        if self.vocabulary is None:
            self.vocabulary = int(_logits(self.model(torch.zeros_like(tokens[:, :1]))).shape[-1])
        return self.vocabulary

    def _want_known(self, tokens: Tensor) -> None:
        """Name a token that is not in the vocabulary."""
        last = self.size_of_vocabulary(tokens) - 1
        for name, token in self.known.items():
            if token > last:
                raise GradlabError(f"{name}: there is no token {token} in a vocabulary that ends with token {last}.")


def look_every(device: torch.device) -> int:
    """After how many tokens to look whether all texts have ended: to look is to wait for the device."""
    return 1 if device.type == "cpu" else 16


def _logits(output: Any) -> Any:
    """What a model gave, or what it has as `logits`."""
    return output if isinstance(output, Tensor) else getattr(output, "logits", output)
