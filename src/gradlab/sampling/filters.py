"""Filters: what is done to the logits of the next token before one is chosen.

A filter is a function of the logits and of what was written so far; any such function will do. They are applied one
after the other: `[RepetitionPenalty(1.2), Temperature(0.7), TopK(50)]`. What is ruled out has the logit -∞.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from gradlab.errors import GradlabError

Logits = Float[Tensor, "rows vocabulary"]


@dataclass(frozen=True, slots=True)
class SamplingContext:
    """What a filter may want to know beside the logits."""

    tokens: Int64[Tensor, "rows length"]
    """All that was written, prompts included."""

    prompts: Sequence[int]
    """How long the prompt of each example is."""

    beams: int = 1
    """Rows that belong to one example, next to each other."""

    ended: Bool[Tensor, " rows"] | None = None
    """Rows of which nothing is wanted any more."""

    first: int = 0
    """The number of the first example."""

    def example(self, row: int) -> int:
        """The number of the example to which a row belongs."""
        return self.first + row // self.beams

    def new(self, row: int) -> int:
        """How many tokens of a row are not its prompt; negative while its prompt is still being read."""
        return self.tokens.shape[1] - self.prompts[row // self.beams]


@runtime_checkable
class LogitFilter(Protocol):
    """Changes the logits of the next token."""

    def __call__(self, logits: Logits, context: SamplingContext) -> Logits: ...


def widened(logits: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Logits as filters get them: float32 or wider, since in bfloat16 many would be the same."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


@dataclass(frozen=True)
class Temperature:
    r"""Makes the distribution sharper (τ < 1) or flatter (τ > 1).

    $$ P_\tau(i) \propto P(i)^{1/\tau}, \qquad z_i \leftarrow z_i / \tau $$

    >>> Temperature(0.5)(torch.tensor([[1.0, 2.0]]))
    tensor([[2., 4.]])
    """

    temperature: float

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise GradlabError(f"temperature must be a number above 0 (0 is greedy decoding), got {self.temperature}.")

    def __call__(self, logits: Logits, context: SamplingContext | None = None) -> Logits:
        return logits / self.temperature


@dataclass(frozen=True)
class TopK:
    """Rules out all but the k most probable tokens; those as probable as the last of them stay too.

    >>> TopK(2)(torch.tensor([[1.0, 3.0, 2.0]]))
    tensor([[-inf, 3., 2.]])
    """

    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or self.k < 1:
            raise GradlabError(f"top_k must be a whole number of at least 1, got {self.k!r}.")

    def __call__(self, logits: Logits, context: SamplingContext | None = None) -> Logits:
        if self.k >= logits.shape[-1]:
            return logits
        return logits.masked_fill(logits < logits.topk(self.k).values[:, -1:], -math.inf)


@dataclass(frozen=True)
class TopP:
    r"""Keeps the most probable tokens, as few as have a probability of p together: the nucleus.

    $$ i \text{ stays if } \sum_{j \,:\, P(j) > P(i)} P(j) < p $$

    Holtzman et al. 2019, arXiv:1904.09751.

    >>> TopP(0.7)(torch.tensor([[0.5, 0.1, 0.4]]).log()).exp()
    tensor([[0.5000, 0.0000, 0.4000]])
    """

    p: float

    def __post_init__(self) -> None:
        if not 0 < self.p <= 1:
            raise GradlabError(f"top_p must be above 0 and at most 1, got {self.p}.")

    def __call__(self, logits: Logits, context: SamplingContext | None = None) -> Logits:
        if self.p == 1:
            return logits
        size = logits.shape[-1]
        whole = logits.logsumexp(-1, keepdim=True)
        # To sort a large vocabulary takes longer than all the rest, and the nucleus is mostly small. To look whether
        # enough was taken waits for the device, so that elsewhere everything is sorted at once.
        taken = min(size, 256) if logits.device.type == "cpu" else size
        while True:
            top, places = logits.topk(taken)
            mass = (top - whole).double().exp()
            upto = mass.cumsum(-1)
            if taken == size or bool((upto[:, -1] >= self.p).all()):
                break
            taken = min(size, 8 * taken)
        kept = top.masked_fill(upto - mass >= self.p, -math.inf)
        return torch.full_like(logits, -math.inf).scatter(-1, places, kept)


@dataclass(frozen=True)
class MinP:
    r"""Rules out tokens less probable than a share m of the most probable one.

    $$ i \text{ stays if } P(i) \ge m \max_j P(j), \quad \text{that is} \quad z_i \ge \max_j z_j + \ln m $$

    Nguyen et al. 2024, arXiv:2407.01082.

    >>> MinP(0.5)(torch.tensor([[0.5, 0.1, 0.4]]).log()).exp()
    tensor([[0.5000, 0.0000, 0.4000]])
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise GradlabError(f"min_p must be from 0 to 1, got {self.share}.")

    def __call__(self, logits: Logits, context: SamplingContext | None = None) -> Logits:
        if self.share == 0:
            return logits
        least = logits.amax(-1, keepdim=True) + math.log(self.share)
        return logits.masked_fill(logits < least, -math.inf)


@dataclass(frozen=True)
class RepetitionPenalty:
    r"""Makes tokens that were written already, in the prompt too, less probable.

    $$ z_i \leftarrow \begin{cases} z_i / \theta & \text{if } z_i \ge 0 \\ \theta z_i & \text{else} \end{cases} $$

    once for each such token, however often it was written. Keskar et al. 2019, arXiv:1909.05858, divide always, which
    would make tokens with negative logits more probable.

    >>> context = SamplingContext(torch.tensor([[0, 1, 1]]), prompts=[3])
    >>> RepetitionPenalty(2.0)(torch.tensor([[1.0, -1.0, 1.0]]), context)
    tensor([[ 0.5000, -2.0000,  1.0000]])
    """

    penalty: float

    def __post_init__(self) -> None:
        if not 0 < self.penalty < math.inf:
            raise GradlabError(f"repetition_penalty must be a number above 0 (1 is none), got {self.penalty}.")

    def __call__(self, logits: Logits, context: SamplingContext) -> Logits:
        seen = logits.gather(-1, context.tokens)
        seen = torch.where(seen < 0, seen * self.penalty, seen / self.penalty)
        return logits.scatter(-1, context.tokens, seen)
