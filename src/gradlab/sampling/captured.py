"""A step of decoding, recorded once and replayed by the device for every further token."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int64
from torch import Tensor

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


def is_worth(device: torch.device, tokens: int) -> bool:
    """Whether to record a step that is to be done for so many tokens; the CPU does it as it is."""
    return device.type == "cuda" and tokens >= _LEAST


class CapturedStep:
    """The step of a cache, on memory of its own for the tokens; the logits it gives are written over by the next."""

    def __init__(self, cache: Stepping, rows: int, device: torch.device, *, reordered: bool) -> None:
        self.cache = cache
        self.tokens = torch.zeros(rows, 1, dtype=torch.int64, device=device)
        changed = cache.hold(reordered=reordered)
        before = [part.clone() for part in changed]
        self.logits, self.replay = _recorded(lambda: cache.step(self.tokens), device)
        # To record it was to do it, on whatever stood there.
        for part, was in zip(changed, before, strict=True):
            part.copy_(was)

    def __call__(self, tokens: Int64[Tensor, "batch 1"]) -> Float[Tensor, "batch 1 vocabulary"]:
        """The logits behind these tokens."""
        self.tokens.copy_(tokens)
        self.replay()
        self.cache.moved()
        return self.logits


def _recorded(step: Callable[[], Tensor], device: torch.device) -> tuple[Tensor, Callable[[], None]]:
    """The result of a step, and how to do it again."""
    if device.type != "cuda":
        result = step()

        def again() -> None:
            result.copy_(step())

        return result, again
    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        step()  # as it is, once: kernels are compiled and libraries make their workspaces
    torch.cuda.current_stream(device).wait_stream(stream)
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        result = step()
    return result, graph.replay
