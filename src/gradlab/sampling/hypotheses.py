"""Finished hypotheses of a beam search: set aside, ranked, and the reason to stop."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.errors import GradlabError, unknown
from gradlab.maths.language import length_normalised
from gradlab.nn.sizes import at_least

Stop = Literal["bound", "estimate", "count", "length"]

_LARGEST = 2**20  # hypotheses: their logits alone would take gigabytes


@dataclass(frozen=True)
class Beam:
    r"""A beam search: how wide it is, how hypotheses are ranked, and when it ends.

    $$ \mathrm{score}(y) = \frac{1}{T^\alpha} \sum_{k=1}^{T} \log P(y_k \mid y_{<k}, x) $$

    T counts the tokens after the prompt x, the last with it. With α = `length_penalty` = 1 the score is the mean, the
    logarithm of the geometric mean of the probabilities; with 0 it is log P(y | x), which prefers short ones.

    A hypothesis among the best `size` continuations that ends is set aside, and the search goes on with the best that
    do not end; at `max_new_tokens` all are at their end. `finished` hypotheses are kept, by default `size`. An example
    is done when, by `stop`,

    - `bound`: no running hypothesis can still get among the `n_best`. The sum can only fall, and the length can only
      grow to `max_new_tokens`: this changes nothing but the time.
    - `estimate`: the best running one, if it ended now, would not get among the kept ones, of which there are enough.
      Later ones that would are missed.
    - `count`: there are as many as are kept, whatever their scores.
    - `length`: `max_new_tokens` are written.

    One beam is greedy decoding: it ends with its first finished hypothesis.

    With several `groups` each has its share of the beams, and of the kept ones. In a step they choose in turn, and a
    token counts λ = `diversity` less for each beam of the groups before that took it; scores stay what they are. Two
    groups may still find the same hypothesis. Vijayakumar et al. 2016, arXiv:1610.02424.

    Filters are given log P, and what they make of it is summed up; with `renormalise` as log-probabilities again.

    What `transformers` calls `early_stopping` True, False and "never" is `count`, `estimate` and `bound` here.
    """

    size: int
    _: KW_ONLY
    n_best: int = 1
    length_penalty: float = 1.0
    stop: Stop = "bound"
    finished: int | None = None
    groups: int = 1
    diversity: float = 0.0
    renormalise: bool = False

    def __post_init__(self) -> None:
        at_least(1, "beam", size=self.size, n_best=self.n_best, groups=self.groups)
        if self.size > _LARGEST:
            raise GradlabError(f"beam: size={self.size:,} is more than the {_LARGEST:,} that a search can follow.")
        if self.stop not in get_args(Stop):
            raise unknown("rule to stop", self.stop, get_args(Stop))
        if not math.isfinite(self.length_penalty):
            raise GradlabError(f"beam: length_penalty must be a finite number, got {self.length_penalty}.")
        if self.size % self.groups:
            raise GradlabError(f"beam: size must be a multiple of groups, got {self.size} and {self.groups}.")
        at_least(1, "beam", finished=self.capacity)
        if not 0 <= self.diversity < math.inf or (self.groups > 1) != (self.diversity > 0):
            wanted = "a number above 0 with several groups" if self.groups > 1 else "0 with one group"
            raise GradlabError(f"beam: diversity must be {wanted}, got {self.diversity}.")
        if self.n_best > self.groups * self.capacity:
            raise GradlabError(f"beam: n_best={self.n_best} are more than the {self.groups * self.capacity} kept ones.")

    @property
    def each(self) -> int:
        """Beams of one group."""
        return self.size // self.groups

    @property
    def capacity(self) -> int:
        """Finished hypotheses that are kept for one group."""
        return self.each if self.finished is None else self.finished


class Hypotheses:
    """The best finished hypotheses of each example and group, best first; empty places have the score -∞."""

    def __init__(self, beam: Beam, page: Int64[Tensor, "batch width"], max_new_tokens: int, dtype: torch.dtype) -> None:
        self.beam, self.page, self.max_new_tokens = beam, page, max_new_tokens
        shape = len(page), beam.groups, beam.capacity
        self.tokens = page[:, None, None].repeat(1, beam.groups, beam.capacity, 1)
        self.scores = torch.full(shape, -math.inf, dtype=dtype, device=page.device)
        self.sums = torch.full_like(self.scores, -math.inf)
        self.lengths = torch.zeros(shape, dtype=torch.int64, device=page.device)
        self.done = torch.zeros(shape[:2], dtype=torch.bool, device=page.device)

    def add(
        self,
        tokens: Int64[Tensor, "batch groups new width"],
        sums: Float[Tensor, "batch groups new"],
        lengths: Int64[Tensor, " batch"],
    ) -> None:
        """Take in some that have ended, of one length in each example; those of no sum (-∞) are none."""
        lengths = lengths[:, None, None].expand(sums.shape)
        scores = length_normalised(sums, lengths.to(sums.dtype), self.beam.length_penalty)
        scores = scores.masked_fill(self.done[..., None], -math.inf)
        self.scores, order = torch.cat([self.scores, scores], -1).topk(self.beam.capacity)
        self.sums = torch.cat([self.sums, sums], -1).gather(-1, order)
        self.lengths = torch.cat([self.lengths, lengths], -1).gather(-1, order)
        order = order[..., None].expand(*order.shape, tokens.shape[-1])
        self.tokens = torch.cat([self.tokens, tokens], -2).gather(-2, order)

    def settle(self, running: Float[Tensor, "batch groups each"], lengths: Int64[Tensor, " batch"]) -> None:
        """Which examples and groups are done, with the sums of the running hypotheses, of so many tokens each."""
        best, alpha = running.amax(-1), self.beam.length_penalty
        count, worst = lengths[:, None].to(best.dtype), self.scores[..., -1]
        done = best == -math.inf  # nothing runs any more
        if self.beam.stop == "count" or self.beam.size == 1:
            done = done | (worst > -math.inf)
        elif self.beam.stop == "estimate":
            done = done | (length_normalised(best, count, alpha) <= worst)
        elif self.beam.stop == "bound":
            # Of all lengths that are left, the one with which the sum, which is not positive, counts for most.
            length = torch.full_like(count, self.max_new_tokens) if alpha > 0 else count + 1
            wanted = self.scores.flatten(1).topk(self.beam.n_best).values[:, -1:]
            done = done | (length_normalised(best, length, alpha) <= wanted)
        self.done |= done

    def best(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Tokens, scores, sums and numbers of new tokens of the n best of each example, over all groups."""
        scores, order = self.scores.flatten(1).topk(self.beam.n_best)
        sums, lengths = (x.flatten(1).gather(1, order) for x in (self.sums, self.lengths))
        places = order[..., None].expand(*order.shape, self.tokens.shape[-1])
        empty = scores == -math.inf
        tokens = torch.where(empty[..., None], self.page[:, None], self.tokens.flatten(1, 2).gather(1, places))
        return tokens, scores, sums, lengths.masked_fill(empty, 0)
