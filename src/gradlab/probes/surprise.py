"""How a language model takes a text: token by token, what it expected, and how surprised it was."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

Prediction = tuple[str, float]


@dataclass(frozen=True)
class Token:
    """One token of a text, as the tokens before it foretold it; before the first there is nothing to tell by."""

    number: int
    text: str
    bits: float | None
    """The surprise: -log2 of the probability that the model gave to it."""

    entropy: float | None
    """The surprise that the model expected, in bits."""

    expected: list[Prediction]
    """The most probable tokens in its place, and their probabilities."""


def surprises(
    logits: Float[Tensor, "length vocabulary"],
    tokens: Int64[Tensor, " length"],
    name: Callable[[int], str],
    top: int = 5,
) -> tuple[list[Token], list[Prediction]]:
    """The tokens of a text with their surprise, and what is expected after the last.

    >>> tokens, after = surprises(torch.log(torch.tensor([[0.75, 0.25]] * 2)), torch.tensor([0, 1]), "ab".__getitem__)
    >>> tokens[1].text, round(tokens[1].bits, 3), [(text, round(p, 3)) for text, p in after]
    ('b', 2.0, [('a', 0.75), ('b', 0.25)])
    """
    logs = logits.double().log_softmax(-1)
    entropies = torch.special.entr(logs.exp()).sum(-1) / math.log(2)
    best = logs.topk(min(top, logs.shape[-1]))
    predictions = [
        [(name(token), probability) for token, probability in zip(numbers, values, strict=True)]
        for numbers, values in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    ]
    numbers = tokens.tolist()
    result = [Token(numbers[0], name(numbers[0]), None, None, [])]
    for i, number in enumerate(numbers[1:]):
        bits = -logs[i, number].item() / math.log(2)
        result.append(Token(number, name(number), bits, entropies[i].item(), predictions[i]))
    return result, predictions[-1]
