"""Texts from models: the functions to call."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Int, Int64
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.modes import evaluating
from gradlab.sampling.beam import beam_search
from gradlab.sampling.choice import Seed, generators
from gradlab.sampling.constraints import Allowed, Prefix, Rule
from gradlab.sampling.filters import LogitFilter, MinP, RepetitionPenalty, Temperature, TopK, TopP
from gradlab.sampling.hypotheses import Beam
from gradlab.sampling.models import Model, look_every
from gradlab.sampling.page import Page, Prompts, Tokens
from gradlab.sampling.speculative import AnyDraft, Draft, speculate
from gradlab.sampling.steps import by_chance, most_probable, steps


def generate(
    model: Model,
    tokens: Prompts,
    max_new_tokens: int,
    *,
    lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    allowed: Sequence[int] | Rule | None = None,
    prefix: Sequence[int] = (),
    filters: Sequence[LogitFilter] = (),
    beam: int | Beam | None = None,
    draft: AnyDraft | Model | None = None,
    eos: Tokens = None,
    pad: int | None = None,
    seed: Seed = None,
) -> Int64[Tensor, "rows width"]:
    r"""Prompts and what the model writes after them.

    $$ y_t \sim P(\cdot \mid x, y_{<t}) $$

    Without `temperature`, `top_k`, `top_p` and `min_p`, or with a temperature of 0, the most probable token is taken
    each time (greedy decoding); with any of them it is drawn. With `beam`, whole texts are searched for, and there are
    `n_best` rows for each prompt, next to each other. With a `draft` the result is the same, and faster; its
    `acceptance` says how many of its guesses were right.

    The model is any function of tokens (batch, length) that gives logits (batch, length, vocabulary), or an object that
    has them as `logits`. One with `new_cache` reads each token once: see `CachedModel`. Of a text longer than a model's
    `limit` it sees the last tokens, by a window that slides. Modules are evaluated without dropout meanwhile.

    `tokens` are prompts of one length, or with `lengths`, or a list of prompts. Each gets at most `max_new_tokens`.
    A row ends with one of the tokens `eos`, and is filled up on the right with `pad`: by default the first of `eos`,
    else 0. What follows a prompt begins with `prefix`, and has only tokens that are `allowed`: some, or those that a
    function of the number of the prompt and of the new tokens gives. Further `filters` come after those, and before
    temperature, top_k, top_p and min_p, in this order.

    The same `seed` gives the same texts, and a row's does not depend on the others: see `choice.uniforms`. Without one,
    torch's own generator gives it.

    >>> def model(tokens):  # after n comes n + 1
    ...     return 9.0 * torch.eye(5)[(tokens + 1) % 5]
    >>> generate(model, torch.tensor([[0], [2]]), 4, eos=4)
    tensor([[0, 1, 2, 3, 4],
            [2, 3, 4, 4, 4]])
    >>> texts = [generate(model, [[0, 1], [2]], 4, temperature=3.0, seed=1) for _ in range(2)]
    >>> torch.equal(*texts), texts[0].shape
    (True, torch.Size([2, 6]))
    """
    sampled, warpers = _warpers(temperature, top_k, top_p, min_p)
    chain = [*_constraints(repetition_penalty, allowed, prefix, max_new_tokens), *filters, *warpers]
    if beam is not None:
        if sampled or draft is not None:
            raise GradlabError("A beam search neither draws tokens nor takes a draft: give beam alone.")
        ends: dict[str, Any] = {"lengths": lengths, "eos": eos, "pad": pad}
        return beam_search(model, tokens, max_new_tokens, beam, filters=chain, **ends).tokens.flatten(0, 1)
    page = Page(tokens, max_new_tokens, lengths=lengths, eos=eos, pad=pad)
    if draft is not None:
        return _drafted(model, draft, page, chain, generators(seed, page.rows) if sampled else None)
    choose = by_chance(page, seed) if sampled else most_probable
    with torch.inference_mode(), evaluating(model):
        for _ in steps(model, page, choose, chain, look_every=look_every(page.tokens.device)):
            pass
    return page.tokens[:, : page.end].contiguous()


def stream(
    model: Model,
    tokens: Prompts,
    max_new_tokens: int,
    *,
    lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    allowed: Sequence[int] | Rule | None = None,
    prefix: Sequence[int] = (),
    filters: Sequence[LogitFilter] = (),
    eos: Tokens = None,
    pad: int | None = None,
    seed: Seed = None,
) -> Iterator[Int64[Tensor, " rows"]]:
    """What `generate` gives, column by column as it is written, from the end of the shortest prompt on.

    >>> def model(tokens):  # after n comes n + 1
    ...     return 9.0 * torch.eye(5)[(tokens + 1) % 5]
    >>> [int(token) for token in stream(model, torch.tensor([[0]]), 10, eos=4)]
    [1, 2, 3, 4]
    """
    sampled, warpers = _warpers(temperature, top_k, top_p, min_p)
    chain = [*_constraints(repetition_penalty, allowed, prefix, max_new_tokens), *filters, *warpers]
    page = Page(tokens, max_new_tokens, lengths=lengths, eos=eos, pad=pad)
    choose = by_chance(page, seed) if sampled else most_probable

    def columns() -> Iterator[Tensor]:
        written = steps(model, page, choose, chain)
        with evaluating(model):
            while True:
                with torch.inference_mode():  # which is left before the caller goes on
                    column = next(written, None)
                if column is None:
                    return
                yield column

    return columns()


def _constraints(
    repetition_penalty: float, allowed: Sequence[int] | Rule | None, prefix: Sequence[int], max_new_tokens: int
) -> list[LogitFilter]:
    if prefix and len(prefix) > max_new_tokens:
        raise GradlabError(f"prefix: {len(prefix)} tokens do not fit into max_new_tokens={max_new_tokens}.")
    chain: list[LogitFilter] = []
    if repetition_penalty != 1:
        chain.append(RepetitionPenalty(repetition_penalty))
    if prefix:
        chain.append(Prefix(prefix))
    if allowed is not None:
        chain.append(Allowed(allowed))
    return chain


def _warpers(
    temperature: float | None, top_k: int | None, top_p: float | None, min_p: float | None
) -> tuple[bool, list[LogitFilter]]:
    """Whether tokens are drawn, and what shapes the distribution first; it is checked also where nothing is drawn."""
    chain: list[LogitFilter] = []
    if temperature is not None and temperature not in (0, 1):
        chain.append(Temperature(temperature))
    if top_k is not None:
        chain.append(TopK(top_k))
    if top_p is not None:
        chain.append(TopP(top_p))
    if min_p is not None:
        chain.append(MinP(min_p))
    sampled = temperature != 0 and (temperature is not None or bool(chain))
    return sampled, chain if sampled else []


def _drafted(
    model: Model,
    draft: AnyDraft | Model,
    page: Page,
    chain: Sequence[LogitFilter],
    chance: Sequence[torch.Generator] | None,
) -> Tensor:
    """Row by row: how many guesses are right is not the same in two of them."""
    draft = Draft(draft) if callable(draft) and not isinstance(draft, AnyDraft) else draft
    with torch.inference_mode(), evaluating(model, getattr(draft, "model", None)):
        for row, length in enumerate(page.lengths):
            prompt = page.tokens[row : row + 1, :length]
            alone = Page(prompt, page.max_new_tokens, eos=page.eos, pad=page.pad, first=row)
            for _ in speculate(model, draft, alone, chain, chance[row] if chance else None):
                pass
            page.tokens[row, : alone.end] = alone.tokens[0, : alone.end]
            page.end = max(page.end, alone.end)
    return page.tokens[:, : page.end].contiguous()
