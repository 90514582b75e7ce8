"""Constraints: filters by which a text can only go on as it may."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.sampling.filters import Logits, SamplingContext

Rule = Callable[[int, list[int]], Iterable[int] | None]
"""A function of the number of an example and of what was written after its prompt, which gives the tokens that may come
next; None stands for all."""


@dataclass(frozen=True)
class Allowed:
    """Rules out all tokens but some: the same ones always, or those that a function gives for each row.

    >>> Allowed([0, 2])(torch.zeros(1, 3), SamplingContext(torch.tensor([[1]]), prompts=[1]))
    tensor([[0., -inf, 0.]])
    >>> def alternate(example, new):
    ...     return [1] if new and new[-1] == 0 else [0]
    >>> Allowed(alternate)(torch.zeros(1, 3), SamplingContext(torch.tensor([[1, 0]]), prompts=[1]))
    tensor([[-inf, 0., -inf]])
    """

    tokens: Sequence[int] | Rule

    def __call__(self, logits: Logits, context: SamplingContext) -> Logits:
        if not callable(self.tokens):
            return _only(logits, self.tokens, "allowed")
        rows, ended = list(logits), [False] * len(logits) if context.ended is None else context.ended.tolist()
        for row, tokens in enumerate(context.tokens.tolist()):
            if (new := context.new(row)) >= 0 and not ended[row]:  # a prompt that is still being read is as it is
                example = context.example(row)
                allowed = self.tokens(example, tokens[len(tokens) - new :])
                if allowed is not None:
                    where = f"allowed, for example {example} at step {new + 1}"
                    rows[row] = _only(rows[row], list(allowed), where)
        return torch.stack(rows)


@dataclass(frozen=True)
class Banned:
    """Rules out some tokens, such as those that mark a beginning.

    >>> Banned([0, 2])(torch.zeros(1, 3), SamplingContext(torch.tensor([[1]]), prompts=[1]))
    tensor([[-inf, 0., -inf]])
    """

    tokens: Sequence[int]

    def __call__(self, logits: Logits, context: SamplingContext) -> Logits:
        return logits.index_fill(-1, torch.tensor(self.tokens, device=logits.device), -math.inf)


@dataclass(frozen=True)
class Prefix:
    """What is written after each prompt must begin with these tokens.

    >>> Prefix([2, 1])(torch.zeros(1, 3), SamplingContext(torch.tensor([[0, 2]]), prompts=[1]))
    tensor([[-inf, 0., -inf]])
    """

    tokens: Sequence[int]

    def __call__(self, logits: Logits, context: SamplingContext) -> Logits:
        length = context.tokens.shape[1]
        if length - max(context.prompts) >= len(self.tokens):
            return logits
        rows = list(logits)
        for row in range(len(rows)):
            if 0 <= (new := context.new(row)) < len(self.tokens):
                rows[row] = _only(rows[row], [self.tokens[new]], "prefix")
        return torch.stack(rows)


def _only(logits: Tensor, tokens: Sequence[int], name: str) -> Tensor:
    """-∞ for all but these tokens, of which there must be one."""
    size = logits.shape[-1]
    if not tokens or not all(0 <= token < size for token in tokens):
        raise GradlabError(f"{name}: tokens must be from 0 to {size - 1}, and at least one; got {list(tokens)}.")
    kept = torch.tensor(tokens, device=logits.device)
    return torch.full_like(logits, -math.inf).index_copy(-1, kept, logits.index_select(-1, kept))
