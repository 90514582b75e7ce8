"""Convolutions that see only what comes before, row by row: of which a distribution of pictures can be made.

A picture is then read as a text is, from its upper left: each pixel is predicted from all that precede it.
"""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import block
from gradlab.nn.convolution import Conv2d
from gradlab.nn.regularisation import Dropout
from gradlab.registry import Count, Probability

Maps = Float[Tensor, "batch {self.channels} height width"]


@block(
    "conv.masked2d",
    flops="2·n·m²·s·c·h",
    memory="O(n·c·m²), the input with its frame",
    letters="n pictures of c channels and m × m pixels, h outputs, and s entries of the k × k that are seen",
)
class MaskedConv2d(nn.Conv2d):
    r"""A k × k convolution whose weights are 0 but above each place, or left of it in its own row.

    $$ y_{o,i,j} = b_o + \sum_{c,\,(u,v) \in S} W_{o,c,u,v} \, x_{c,\, i + u,\, j + v} $$

    With r = (k - 1) / 2, `seen="above"` has S = {-r, …, 0} × {-r, …, r}, all rows down to its own, and `seen="left"`
    has S = {0} × {-r, …, 0}. A `strict` one leaves out its own row, or its own place. Weights that would be 0 are not
    there, and outside of the picture all is 0. van den Oord et al. 2016, arXiv:1606.05328.

    >>> layer = MaskedConv2d(1, 1, 3, seen="left", strict=True, bias=False)
    >>> _ = layer.load_state_dict({"weight": torch.ones(1, 1, 1, 1)})
    >>> layer(torch.tensor([[[[1.0, 2.0, 3.0]]]])).tolist()
    [[[[0.0, 1.0, 2.0]]]]
    """

    def __init__(
        self,
        in_channels: Count,
        out_channels: Count,
        kernel_size: Annotated[Count, "k, which is odd"],
        seen: Literal["above", "left"] = "above",
        strict: bool = False,
        bias: bool = True,
    ):
        if kernel_size % 2 == 0 or (strict and kernel_size == 1):
            raise GradlabError(f"conv.masked2d: kernel_size must be odd, and 3 or more if strict, got {kernel_size}.")
        self.reach, self.seen, self.strict = kernel_size // 2, seen, strict
        long = self.reach + (not strict)
        super().__init__(in_channels, out_channels, (long, kernel_size) if seen == "above" else (1, long), bias=bias)

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """Zeros at the left, right, top and bottom; a strict one has instead one row, or one column, fewer."""
        r, fewer = self.reach, -int(self.strict)
        return (r, r, r, fewer) if self.seen == "above" else (r, fewer, 0, 0)

    def forward(
        self, x: Float[Tensor, "batch {self.in_channels} height width"]
    ) -> Float[Tensor, "batch {self.out_channels} height width"]:
        return super().forward(F.pad(x, self.frame))

    def at(self, window: Float[Tensor, "batch in_channels seen columns"]) -> Float[Tensor, "batch outputs rows places"]:
        """What comes out where all that is seen is given, and nothing else: for who computes one place at a time."""
        return super().forward(window)


@block(
    "conv.gated_pixel",
    flops="2·n·m²·c²·(2·(r+1)·(k+1)+5)",
    memory="O(n·c·m²), the maps on the way",
    letters="n pictures of c channels and m × m pixels, and k × k kernels that reach r = (k - 1) / 2 far",
)
class GatedPixelLayer(nn.Module):
    r"""A layer of a gated PixelCNN: maps v of all rows above a place, and h of all that precedes it.

    $$ a = V v, \qquad v' = v + g(a), \qquad h' = h + W\, g(H h + U a), \qquad
       g(p, q) = \tanh(p) \odot \mathrm{sigmoid}(q) $$

    V sees above, H sees left (`MaskedConv2d`), U and W are 1 × 1. Where v has only rows above its own, and h only
    pixels before its place, so have v' and h'. One stack of masked kernels would be blind to a growing wedge on the
    right of rows above; what v sees is a rectangle. van den Oord et al. 2016, arXiv:1606.05328.

    >>> layer = GatedPixelLayer(channels=4)
    >>> [maps.shape for maps in layer(torch.zeros(2, 4, 8, 8), torch.zeros(2, 4, 8, 8))]
    [torch.Size([2, 4, 8, 8]), torch.Size([2, 4, 8, 8])]
    """

    def __init__(
        self, channels: Count, kernel_size: Annotated[Count, "k, which is odd"] = 3, dropout: Probability = 0.0
    ):
        super().__init__()
        self.channels, self.kernel_size = channels, kernel_size
        self.vertical = MaskedConv2d(channels, 2 * channels, kernel_size, seen="above")
        self.horizontal = MaskedConv2d(channels, 2 * channels, kernel_size, seen="left", bias=False)
        self.link, self.out = Conv2d(2 * channels, 2 * channels, 1), Conv2d(channels, channels, 1)
        self.dropout = Dropout(dropout)

    def forward(self, v: Maps, h: Maps) -> tuple[Maps, Maps]:
        above = self.vertical(v)
        return v + gate(above), self.across(h, self.horizontal(h) + self.link(above))

    def across(
        self, h: Float[Tensor, "batch channels rows places"], seen: Float[Tensor, "batch doubled rows places"]
    ) -> Float[Tensor, "batch channels rows places"]:
        """h' of h and of H h + U a."""
        after: Tensor = h + self.out(self.dropout(gate(seen)))
        return after


def gate(maps: Float[Tensor, "batch doubled height width"]) -> Float[Tensor, "batch channels height width"]:
    """tanh of the first half of the channels, times the sigmoid of the second."""
    value, opening = maps.chunk(2, dim=1)
    return torch.tanh(value) * torch.sigmoid(opening)
