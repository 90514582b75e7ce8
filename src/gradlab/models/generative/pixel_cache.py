"""What a PixelCNN has computed of pictures that it draws: a pixel needs its own place of each layer, and no other."""

from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.masked_convolution import gate

if TYPE_CHECKING:
    from gradlab.models.generative.pixelcnn import PixelCNN


class PixelCache:
    """Inputs of all masked convolutions, in their frames of zeros: `begin` a row, then for each pixel `maps`, `write`.

    Maps of the rows above are the same for all pixels of a row, and are computed once for it. A pixel then takes one
    place of each layer: for n pixels the work of n places, where whole passes would be that of n².
    """

    def __init__(self, model: "PixelCNN", count: int):
        self.model, self.size = model, (model.inputs.height, model.inputs.width)
        height, width = self.size
        like = model.head.weight

        def zeros(channels: int, rows: int, columns: int) -> Tensor:
            return torch.zeros(count, channels, rows, columns, device=like.device, dtype=like.dtype)

        frame = self.frame = model.above.reach
        self.inputs = zeros(model.inputs.channels + 1, height + frame, width + 2 * frame)
        self.inputs[:, -1:, frame:, frame : frame + width] = 1
        layers: Any = model.layers
        reaches = [layer.vertical.reach for layer in layers]
        self.rows = [zeros(model.channels, height + reach, width + 2 * reach) for reach in reaches]
        self.row = [zeros(model.channels, 1, width + reach) for reach in reaches]
        self.layers = list(zip(layers, reaches, self.rows, self.row, strict=True))
        self.links: list[Tensor] = []

    def begin(self, i: int) -> None:
        """Maps of all that is above row i."""
        v, width = self.model.above.at(self.inputs[:, :, i : i + self.frame]), self.size[1]
        self.links = []
        for layer, reach, rows, _ in self.layers:
            rows[:, :, i + reach : i + reach + 1, reach : reach + width] = v
            above = layer.vertical.at(rows[:, :, i : i + reach + 1])
            self.links.append(layer.link(above))
            v = v + gate(above)

    def maps(self, i: int, j: int) -> Float[Tensor, "count channels 1 1"]:
        """h of pixel j in the row that was begun, behind the last layer. What is right of it is old, and not seen."""
        h = self.model.left.at(self.inputs[:, :, i + self.frame, None, j : j + self.frame])
        for (layer, reach, _, row), link in zip(self.layers, self.links, strict=True):
            row[..., j + reach : j + reach + 1] = h
            h = layer.across(h, layer.horizontal.at(row[..., j : j + reach + 1]) + link[..., j : j + 1])
        return h

    def write(self, i: int, j: int, pixel: Float[Tensor, "count channels"]) -> None:
        """The level that was drawn for a pixel."""
        self.inputs[:, :-1, i + self.frame, j + self.frame] = 2 * pixel - 1

    @property
    def pictures(self) -> Float[Tensor, "count channels height width"]:
        """All that was drawn, from 0 to 1."""
        inside = slice(self.frame, self.frame + self.size[1])
        return (self.inputs[:, :-1, self.frame :, inside] + 1) / 2
