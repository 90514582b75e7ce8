"""Truncated backpropagation through time: a long sequence in chunks, with no gradient from one to those before."""

from collections.abc import Iterator
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError

State = TypeVar("State", Tensor, tuple[Tensor, Tensor])


def truncated(
    block: nn.RNNBase, x: Float[Tensor, "time_or_batch batch_or_time features"], steps: int, state: State | None = None
) -> Iterator[tuple[Float[Tensor, "time_or_batch batch_or_time hidden"], State]]:
    """The outputs of each chunk of so many steps, and the state behind it, from which the next chunk starts.

    The values are those of the whole sequence. A gradient reaches back to the start of its chunk and no further, so
    that time and memory of a backward pass are those of one chunk. A chunk is run when it is asked for: the weights may
    be changed between two.

    >>> from gradlab.nn import GRU
    >>> [len(outputs) for outputs, state in truncated(GRU(3, 2), torch.ones(100, 5, 3), steps=40)]
    [40, 40, 20]
    """
    if block.bidirectional:
        raise GradlabError("truncated: a run backwards needs the whole sequence; the block must not be bidirectional.")
    if steps < 1:
        raise GradlabError(f"truncated: steps must be at least 1, got {steps}.")
    for chunk in torch.split(x, steps, dim=1 if block.batch_first else 0):
        outputs, state = block(chunk, state)
        yield outputs, state
        state = detached(state)


def detached(state: State) -> State:
    """The same numbers, as if they were given: no gradient passes to how they were made."""
    return state.detach() if isinstance(state, Tensor) else (state[0].detach(), state[1].detach())
