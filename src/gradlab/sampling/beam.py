"""Beam search: of all continuations of the best texts so far, the best are followed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from gradlab.nn.modes import evaluating
from gradlab.sampling import captured
from gradlab.sampling.choice import Watch
from gradlab.sampling.filters import LogitFilter, SamplingContext, widened
from gradlab.sampling.hypotheses import Beam, Hypotheses
from gradlab.sampling.models import Model, Reader, look_every
from gradlab.sampling.page import Page, Prompts, Tokens
from gradlab.sampling.tree import Node, Recorder


@dataclass(frozen=True)
class BeamResult:
    """The hypotheses that a beam search found, best first. If there were fewer, the rest have the score -∞."""

    tokens: Int64[Tensor, "batch n_best width"]
    """Prompts and what follows them, padded on the right."""

    scores: Float[Tensor, "batch n_best"]
    """By which they are ranked."""

    log_probabilities: Float[Tensor, "batch n_best"]
    """log P of what follows the prompt."""

    lengths: Int64[Tensor, "batch n_best"]
    """How many tokens follow the prompt."""

    trees: list[Node]
    """For each example what was looked at, if it was to be recorded."""


def beam_search(
    model: Model,
    tokens: Prompts,
    max_new_tokens: int,
    beam: Beam | int,
    *,
    lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    eos: Tokens = None,
    pad: int | None = None,
    filters: Sequence[LogitFilter] = (),
    record: bool = False,
) -> BeamResult:
    r"""Follow the k best texts: each step adds one token to each, and keeps the k best of all continuations.

    $$ B_t = \operatorname*{top}_k \; \{ \log P(y_{\le t} \mid x) : y_{<t} \in B_{t-1} \} $$

    k = 1 is greedy decoding; with k ≥ V^(T-1) it finds the best of all texts of up to T tokens of V. In between it may
    miss it. How hypotheses end and are ranked is said at `Beam`. Examples are searched side by side, each by itself.

    >>> def model(tokens):  # a token and its neighbour follow each other
    ...     return torch.eye(4)[tokens] + 2 * torch.eye(4).roll(1, 1)[tokens]
    >>> best = beam_search(model, torch.tensor([[0]]), 3, Beam(3, n_best=2))
    >>> best.tokens.tolist()
    [[[0, 1, 2, 3], [0, 0, 1, 2]]]
    """
    beam = Beam(beam) if isinstance(beam, int) else beam
    page = Page(tokens, max_new_tokens, lengths=lengths, eos=eos, pad=pad)
    with torch.inference_mode(), evaluating(model):
        search = _Search(model, page, beam, filters, record)
        search.run()
        written, scores, sums, new = search.hypotheses.best()
    # Outside of inference mode, so that what is found can be used in training.
    width = int((page.prompts[:, None] + new).max())
    trees = search.recorder.roots if search.recorder else []
    return BeamResult(written[..., :width].clone(), scores.clone(), sums.clone(), new.clone(), trees)


class _Search:
    """The running hypotheses: `size` rows of tokens for each example, and their sums of log-probabilities."""

    def __init__(self, model: Model, page: Page, beam: Beam, filters: Sequence[LogitFilter], record: bool) -> None:
        self.page, self.beam, self.filters = page, beam, filters
        captured.prepare(page.tokens.device, page.width - page.start - 1)
        self.reader = Reader(model, page.rows, page.width, page.known())
        self.watch = Watch(page.lengths, page.width, page.tokens.device)
        self.recorder = Recorder(page.rows, beam.size, beam.each) if record else None

    def run(self) -> None:
        page, beam = self.page, self.beam
        device = page.tokens.device
        copies = torch.arange(page.rows, device=device).repeat_interleave(beam.size)
        # The prompts are read once, and then copied for all beams, of which only one in each group is alive yet.
        logits = self.reader.read(page.tokens, page.start)[:, -1].index_select(0, copies)
        self.reader.reorder(copies)
        self.tokens = page.tokens.index_select(0, copies)
        dtype = widened(logits).dtype
        shape = page.rows, beam.groups, beam.each
        self.sums = torch.full(shape, -math.inf, dtype=dtype, device=device)
        self.sums[..., 0] = 0.0
        self.places = torch.arange(beam.each, device=device)
        """Of the beams in their group."""
        self.firsts = torch.arange(0, page.rows * beam.size, beam.each, device=device).view(*shape[:2], 1)
        """The row of each group's first beam."""
        self.hypotheses = Hypotheses(beam, page.tokens, page.max_new_tokens, dtype)
        every = look_every(device)
        for position in range(page.start, page.width):
            if position > page.start:
                logits = self.reader.read(self.tokens, position)[:, -1]
            self._advance(self._scores(widened(logits), position), position)
            if position == page.start:
                self.reader.record(len(copies), device, page.width - position - 1, reordered=beam.size > 1)
            if page.eos and (position - page.start) % every == every - 1 and bool(self.hypotheses.done.all()):
                break
        self.watch.close()

    def _scores(self, logits: Tensor, position: int) -> Float[Tensor, "batch groups each vocabulary"]:
        """The sum of log-probabilities of each continuation."""
        log_p = logits.log_softmax(-1)
        if self.filters:
            ended = self.sums.flatten() == -math.inf
            context = SamplingContext(self.tokens[:, :position], self.page.lengths, self.beam.size, ended)
            for change in self.filters:
                log_p = change(log_p, context)
            log_p = log_p.log_softmax(-1) if self.beam.renormalise else log_p
        return self.sums[..., None] + log_p.view(*self.sums.shape, -1)

    def _advance(self, scores: Float[Tensor, "batch groups each vocabulary"], position: int) -> None:
        """Set aside the continuations that end, and go on with the best of the others."""
        page, beam, hypotheses = self.page, self.beam, self.hypotheses
        new = (position + 1 - page.prompts).clamp(min=0)
        reading = new == 0  # their prompts go on
        last = new >= page.max_new_tokens
        places, ends, onward = self._candidates(scores, last, position)
        sums = scores.flatten(2).gather(-1, places)
        parents, tokens = places // scores.shape[-1], places % scores.shape[-1]

        # Only the best count: the candidates behind them are there to take the place of those that end.
        ending = sums[..., : beam.each].masked_fill(~ends[..., : beam.each] | reading[:, None, None], -math.inf)
        can_end = bool(page.eos) or position + 1 >= page.start + page.max_new_tokens
        if can_end and (ending.device.type != "cpu" or bool((ending > -math.inf).any())):
            texts = self._texts(parents[..., : beam.each], tokens[..., : beam.each], position)
            hypotheses.add(texts, ending, new.clamp(min=1))

        sums = sums.masked_fill(ends, -math.inf).gather(-1, onward)
        parents, tokens = parents.gather(-1, onward), tokens.gather(-1, onward)
        if not page.even:
            stay, own = reading[:, None, None], page.tokens[:, position, None, None]
            sums = torch.where(stay, self.sums, sums)
            parents = torch.where(stay, self.places, parents)
            tokens = torch.where(stay, own, tokens)
        if self.recorder is not None:
            self.recorder.step(scores, sums, parents, tokens, ending, places, reading | hypotheses.done.all(-1))
        self.sums = sums
        if page.eos:
            hypotheses.settle(sums, new.clamp(min=1))
        if position + 1 < page.width:
            rows = (self.firsts + parents).flatten()
            self.tokens = self.tokens.index_select(0, rows)
            self.tokens[:, position] = tokens.flatten()
            if beam.size > 1:
                self.reader.reorder(rows)

    def _candidates(
        self, scores: Float[Tensor, "batch groups each vocabulary"], last: Bool[Tensor, " batch"], position: int
    ) -> tuple[
        Int64[Tensor, "batch groups some"], Bool[Tensor, "batch groups some"], Int64[Tensor, "batch groups each"]
    ]:
        """Places of the best continuations in each group, which of them end, and which of them are gone on with.

        Each beam can end in as many ways as there are tokens that end it. So many more are taken than there are beams
        that there is always something to go on with.
        """
        groups, each, size = scores.shape[1:]
        some = min(each * size, each * (1 + len(self.page.eos)))
        taken = scores.new_zeros(len(scores), 1, size)  # how many beams of the groups before took each token
        chosen = []
        for group in range(groups):
            guided = scores[:, group] - self.beam.diversity * taken if group else scores[:, group]
            top, place = guided.flatten(1).topk(some)
            # NaN would be the largest. -∞ is sound here: all beams may be at their end.
            self.watch.see(top[:, 0].clamp(min=-1.0), position)
            end, kept = last[:, None].expand_as(place), self.places.expand(len(place), each)
            if self.page.eos:
                ended = self.page.is_end(place % size)
                top, kept = top.masked_fill(ended, -math.inf).topk(each)
                end = end | ended
            if groups > 1:
                tokens = (place % size).gather(1, kept)
                taken[:, 0].scatter_add_(1, tokens, (top[:, :each] > -math.inf).to(taken.dtype))
            chosen.append((place, end, kept))
        places, ends, onward = (torch.stack(parts, 1) for parts in zip(*chosen, strict=True))
        return places, ends, onward

    def _texts(self, parents: Tensor, tokens: Tensor, position: int) -> Int64[Tensor, "batch groups each width"]:
        """Continuations written out."""
        texts = self.tokens.index_select(0, (self.firsts + parents).flatten())
        texts[:, position] = tokens.flatten()
        return texts.view(*parents.shape, -1)
