"""A step of decoding, recorded once and replayed by the device for every further token."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gradlab import kernels
from gradlab.kernels.graphs import recording

_LEAST = 16  # tokens for which a recording, some milliseconds, is worth it


@runtime_checkable
class Stepping(Protocol):
    """A cache that can read one token of each row by the same operations on the same memory each time."""

    @property
    def can_step(self) -> bool:
        """Whether this model can be read so."""

    def hold(self, *, reordered: bool) -> list[Tensor]:
        """Keep all memory in its place from now on. Given back is what a step changes for good."""

    def step(self, tokens: Int64[Tensor, "batch 1"]) -> Float[Tensor, "batch 1 vocabulary"]:
        """The logits behind one more token of each row: operations of the device alone."""

    def moved(self) -> None:
        """Count a step that was replayed."""


@runtime_checkable
class Reversible(Stepping, Protocol):
    """One that reads several tokens at once, and unreads those that turn out otherwise."""

    @property
    def can_go_back(self) -> bool:
        """Whether this model can be read so."""

    def hold(self, *, reordered: bool, new: int = 1) -> list[Tensor]:
        """The same for steps of `new` tokens."""

    def go_back(self, length: Int64[Tensor, "1"]) -> None:
        """Unread what came after the first so many tokens: operations of the device alone."""


def is_worth(device: torch.device, tokens: int) -> bool:
    """Whether to record a step that is to be done for so many tokens; the CPU does it as it is."""
    return device.type == "cuda" and tokens >= _LEAST


def prepare(device: torch.device, tokens: int) -> None:
    """Begin with what a recording of so many tokens will need, before the prompts are read."""
    if is_worth(device, tokens) and device.type == "cuda":
        kernels.prepare()


def without_plans() -> AbstractContextManager[Any]:
    """Attention by kernels that take any length as it comes; cuDNN plans for each that it has not seen, for long."""
    return sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])


@runtime_checkable
class Following(Protocol):
    """What is done with the logits, as operations of the device alone."""

    @property
    def changed(self) -> list[Tensor]:
        """What it changes for good."""

    def __call__(self, logits: Float[Tensor, "batch 1 vocabulary"], chosen: Int64[Tensor, "batch 1"]) -> None:
        """Choose the next token of each row."""


class CapturedStep:
    """The step of a cache, on memory of its own for the tokens; the logits it gives are written over by the next.

    With something that `follows`, which chooses the next tokens, each further step is a whole token: `go`.
    """

    def __init__(
        self, cache: Stepping, rows: int, device: torch.device, *, reordered: bool, follows: Following | None = None
    ) -> None:
        self.cache, self.follows = cache, follows
        self.tokens = torch.zeros(rows, 1, dtype=torch.int64, device=device)
        changed = [self.tokens, *cache.hold(reordered=reordered), *([] if follows is None else follows.changed)]

        def step() -> Tensor:
            logits = cache.step(self.tokens)
            if follows is not None:
                follows(logits, self.tokens)
            return logits

        self.logits, self.replay = recorded(step, changed, device)

    def go(self) -> None:
        """Read the tokens that were chosen, and choose the next."""
        self.replay()
        self.cache.moved()

    def __call__(self, tokens: Int64[Tensor, "batch 1"]) -> Float[Tensor, "batch 1 vocabulary"]:
        """The logits behind these tokens."""
        self.tokens.copy_(tokens)
        self.go()
        return self.logits


def recorded(
    step: Callable[[], Tensor], changed: Sequence[Tensor], device: torch.device
) -> tuple[Tensor, Callable[[], None]]:
    """The result of a step, and how to do it again. To record it is to do it: what it `changed` is put back."""
    before = [part.clone() for part in changed]

    def restore() -> None:
        for part, was in zip(changed, before, strict=True):
            part.copy_(was)

    if device.type != "cuda":
        result = step()
        restore()

        def again() -> None:
            result.copy_(step())

        return result, again
    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
    with without_plans():
        kernels.compile_for(step, device)
        restore()
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            step()  # as it is, once: libraries load their kernels and make their workspaces
        torch.cuda.current_stream(device).wait_stream(stream)
        restore()
        with recording(graph, stream, capture_error_mode="thread_local"):
            result = step()
    graph.replay()  # the first goes to the device only now
    restore()
    return result, graph.replay
