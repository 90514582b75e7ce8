"""The loop: read, filter, choose, write."""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.sampling import captured
from gradlab.sampling.choice import Chosen, Seed, Watch, draw, greedy, uniforms
from gradlab.sampling.filters import LogitFilter, SamplingContext, widened
from gradlab.sampling.models import Model, Reader
from gradlab.sampling.page import Page
from gradlab.sampling.writing import Writing

Choose = Callable[[Tensor, int | Tensor], Chosen]
"""The logits of each row, and the position of the page, which the host knows or the device."""


def steps(
    model: Model, page: Page, choose: Choose, filters: Sequence[LogitFilter] = (), *, look_every: int = 1
) -> Iterator[Int64[Tensor, " rows"]]:
    """Write the page, and give each of its columns as it is written, from the end of the shortest prompt on.

    Whether all rows have ended is looked at once in so many columns; those behind the end are cut from the page.
    """
    device = page.tokens.device
    captured.prepare(device, page.width - page.start - 1)
    reader, watch = Reader(model, page.rows, page.width, page.known()), Watch(page.lengths, page.width, device)
    writing = Writing(page, watch, choose, filters, choose is most_probable) if Writing.can(filters) else None
    for position in range(page.start, page.width):
        look = (position - page.start) % look_every == look_every - 1
        if reader.wrote(position):
            ended = page.wrote(position, look)
        else:
            logits = reader.read(page.tokens, position).select(1, -1)
            if filters:
                # A copy, since a filter may keep what the next step writes over.
                logits = widened(logits).clone() if logits.is_cuda else widened(logits)
                context = SamplingContext(page.tokens.narrow(1, 0, position), page.lengths, ended=page.done)
                for change in filters:
                    logits = change(logits, context)
            chosen, sound = choose(logits, position)
            watch.see(sound, position)
            ended = page.write(chosen, position, look)
            if position == page.start:
                reader.record(page.rows, device, page.width - position - 1, writing=writing)
            reader.aim(page.tokens, position + 1)
        yield page.tokens.select(1, position)
        if ended:
            break
    if page.eos and look_every > 1:
        page.cut()
    watch.close(page.end)


def most_probable(logits: Tensor, position: int | Tensor) -> Chosen:
    """Greedy decoding."""
    return greedy(logits)


def by_chance(page: Page, seed: Seed) -> Choose:
    """Sampling: the n-th token of a row is decided by the row's n-th number."""
    drawn = uniforms(seed, page.rows, page.max_new_tokens).to(page.tokens.device)
    places = page.prompts[:, None] + torch.arange(page.max_new_tokens, device=drawn.device)
    placed = drawn.new_zeros(page.rows, page.width).scatter(1, places, drawn)

    def chosen(logits: Tensor, position: int | Tensor) -> Chosen:
        at = placed.narrow(1, position, 1) if isinstance(position, int) else placed.index_select(1, position)
        return draw(logits, at)

    return chosen
