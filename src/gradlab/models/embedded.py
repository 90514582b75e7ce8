"""Columns with many categories, in front of any model of tables: a learned vector for each category."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn import Embedding


class EmbeddedTable(nn.Module):
    r"""The numbers of a row as they are, and in place of each number of a category the vector that is learned for it.

    $$ (x_1, \dots, x_n, c_1, \dots, c_k) \mapsto (x_1, \dots, x_n, E^{(1)}_{c_1}, \dots, E^{(k)}_{c_k}) $$

    >>> EmbeddedTable(2, [300]).width
    15
    """

    def __init__(self, numbers: int, sizes: Sequence[int]):
        super().__init__()
        self.numbers = numbers
        self.vectors = nn.ModuleList(Embedding(size, _width(size)) for size in sizes)
        self.width = numbers + sum(map(_width, sizes))
        for table in self.vectors.parameters():
            # Nearly alike: each category becomes another by its own examples alone, of which many have few.
            nn.init.normal_(table, std=0.05)

    def forward(self, inputs: Float[Tensor, "batch columns"]) -> Float[Tensor, "batch {self.width}"]:
        codes = inputs[:, self.numbers :].long()
        vectors = [table(code) for table, code in zip(self.vectors, codes.unbind(1), strict=True)]
        return torch.cat([inputs[:, : self.numbers], *vectors], dim=1)


def _width(categories: int) -> int:
    """Some more numbers for more categories: between the logarithm, which could tell them apart, and the root."""
    return min(32, round(2 * math.cbrt(categories)))
