"""Counted n-grams: what a model of text should beat."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from gradlab.data import Examples
from gradlab.models.ngram import NGram
from gradlab.wording import count

_COUNTED = 2**23  # tokens: a few seconds, and less memory than a small language model is trained in
_PIECE = 2**16
_JUDGED = 2**20  # tokens that tell how frequent each is
_NAMES = {1: "unigrams", 2: "bigrams", 3: "trigrams"}


def tokens_of(train: Examples) -> npt.NDArray[Any] | Int[Tensor, " length"]:
    """The text that windows were cut from; examples that stand alone, one after the other."""
    inputs = train.inputs
    text: npt.NDArray[Any] | Tensor = inputs.tokens if hasattr(inputs, "tokens") else inputs[:].flatten()
    return text


def token_entropy(train: Examples) -> float:
    """What always giving the frequencies of the tokens would cost."""
    some: Any = tokens_of(train)[:_JUDGED]
    tokens = some.cpu().long() if isinstance(some, Tensor) else torch.from_numpy(some.astype(np.int64))
    return float(torch.special.entr(torch.bincount(tokens).double() / len(tokens)).sum())


def ngram_baselines(
    tokens: npt.NDArray[Any] | Int[Tensor, " length"], vocabulary: int, order: int = 3
) -> dict[str, NGram]:
    """All tokens alike, and the n-grams of a text; of a long one, those of pieces evenly spread over it.

    >>> text = np.array([0, 1, 0, 1, 0, 2])
    >>> list(ngram_baselines(text, vocabulary=3)), list(ngram_baselines(text, vocabulary=3, order=0))
    (['uniform', 'counted trigrams'], ['uniform'])
    """
    baselines = {"uniform": NGram(vocabulary, order=1)}  # which has counted nothing
    if order == 0:
        return baselines
    text = tokens.cpu().numpy() if isinstance(tokens, Tensor) else tokens
    name = f"counted {_NAMES[order]}"
    if len(text) > _COUNTED:
        starts = np.linspace(0, len(text) - _PIECE, _COUNTED // _PIECE, dtype=np.int64)
        text = np.concatenate([text[start : start + _PIECE] for start in starts])
        name += f" of {count(len(text))} tokens"
    return {**baselines, name: NGram(vocabulary, order).fit(text)}
