"""The usual loop over pairs: torch.nn.Transformer, and a DataLoader whose batches are padded as they come."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from gradlab.models.seq2seq.model import PADDING

Pair = tuple[Tensor, Tensor]


class UsualTransformer(nn.Module):
    """torch.nn.Transformer between a table of embeddings for both texts, which is the last map too."""

    def __init__(
        self, vocabulary: int, longest: int, *, dim: int, heads: int, layers: int, hidden: int, dropout: float
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.transformer = nn.Transformer(
            dim, heads, layers, layers, hidden, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("places", _sinusoids(longest, dim))
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        padded = source == PADDING
        y = self.transformer(
            self._placed(source),
            self._placed(target),
            tgt_mask=later,
            src_key_padding_mask=padded,
            tgt_key_padding_mask=target == PADDING,
            memory_key_padding_mask=padded,
        )
        return nn.functional.linear(y, self.embedding.weight)

    def _placed(self, tokens: Tensor) -> Tensor:
        x: Tensor = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        moved: Tensor = self.dropout(x + self.places[: tokens.shape[1]])  # type: ignore[index]
        return moved


def padded(pairs: Sequence[Pair]) -> Pair:
    """Sources and targets of a batch, each side as wide as its longest."""
    sources, targets = zip(*pairs, strict=True)
    return tuple(pad_sequence([*side], batch_first=True, padding_value=PADDING) for side in (sources, targets))  # type: ignore[return-value]


def endless(pairs: Sequence[Pair], batch: int) -> Iterator[Pair]:
    """Batches, epoch after epoch."""
    loader: DataLoader[Any] = DataLoader(pairs, batch_size=batch, shuffle=True, collate_fn=padded)  # type: ignore[arg-type]
    while True:
        yield from loader


def _sinusoids(length: int, dim: int) -> Tensor:
    angles = torch.arange(length)[:, None] * torch.exp(-math.log(1e4) * torch.arange(0, dim, 2) / dim)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
