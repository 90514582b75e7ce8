"""PixelCNN: a picture is drawn pixel by pixel, each from the distribution that all pixels before it leave."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.generative.pixel_cache import PixelCache
from gradlab.models.registry import models
from gradlab.nn import Conv2d, GatedPixelLayer, MaskedConv2d, ReLU
from gradlab.registry import Count, Natural, Probability
from gradlab.specs import Picture

Pictures = Float[Tensor, "batch {self.inputs.channels} {self.inputs.height} {self.inputs.width}"]
Logits = Float[Tensor, "batch {self.levels} {self.inputs.channels} {self.inputs.height} {self.inputs.width}"]


class PixelCNN(nn.Module):
    r"""A distribution of pictures whose pixels have so many levels, which are from 0 to 1.

    $$ p(x) = \prod_i p(x_i \mid x_1, \dots, x_{i-1}) $$

    in reading order: a first pair of masked convolutions, gated layers, and a 1 × 1 network for the logits of all
    levels. So the sum is 1, and p is exact. Channels of one pixel are independent of each other, given all pixels
    before it. A channel of ones tells pixels from the frame around them. van den Oord et al. 2016, arXiv:1606.05328.

    >>> model = pixelcnn(Picture(1, 5, 4), 3, layers=2, channels=4)
    >>> model(torch.zeros(2, 1, 5, 4)).shape, model.sample(6).shape
    (torch.Size([2, 3, 1, 5, 4]), torch.Size([6, 1, 5, 4]))
    """

    def __init__(
        self, inputs: Picture, levels: int, layers: int, channels: int, kernel: int, first_kernel: int, dropout: float
    ):
        super().__init__()
        self.inputs, self.levels, self.channels = inputs, levels, channels
        self.above = MaskedConv2d(inputs.channels + 1, channels, first_kernel, "above", strict=True)
        self.left = MaskedConv2d(inputs.channels + 1, channels, first_kernel, "left", strict=True)
        self.layers = nn.ModuleList(GatedPixelLayer(channels, kernel, dropout) for _ in range(layers))
        self.mix = nn.Sequential(ReLU(), Conv2d(channels, channels, 1), ReLU())
        self.head = Conv2d(channels, levels * inputs.channels, 1)

    def forward(self, x: Pictures) -> Logits:
        """Of every pixel, from those before it."""
        x = self.framed(x)
        v, h = self.above(x), self.left(x)
        for layer in self.layers:
            v, h = layer(v, h)
        logits: Tensor = self.head(self.mix(h))
        return logits.reshape(len(x), self.levels, *self.inputs.shape)

    def framed(self, x: Pictures) -> Float[Tensor, "batch channels height width"]:
        """Levels from -1 to 1, and a channel of ones."""
        return torch.cat([2 * x - 1, torch.ones_like(x[:, :1])], dim=1)

    @torch.no_grad()
    def sample(self, count: int) -> Pictures:
        """Pictures, pixel by pixel, of which only what a new pixel needs is computed."""
        cache = PixelCache(self, count)
        for row in range(self.inputs.height):
            cache.begin(row)
            for column in range(self.inputs.width):
                logits = self.head(self.mix(cache.maps(row, column))).reshape(count, self.levels, -1).movedim(1, 2)
                level = torch.multinomial(logits.flatten(0, 1).softmax(-1), 1).reshape(count, -1)
                cache.write(row, column, level / (self.levels - 1))
        return cache.pictures


@models.register("pixelcnn")
def pixelcnn(
    inputs: Picture,
    outputs: int,
    *,
    layers: Annotated[Natural, "gated layers"] = 6,
    channels: Annotated[Count, "of their maps"] = 32,
    kernel: Annotated[Count, "side of the kernels of gated layers, which is odd"] = 3,
    first_kernel: Annotated[Count, "side of the first kernels, which is odd and at least 3"] = 7,
    dropout: Annotated[Probability, "of what a gated layer adds"] = 0.0,
) -> PixelCNN:
    """A gated PixelCNN: logits of the levels of each pixel, from the pixels before it."""
    return PixelCNN(inputs, outputs, layers, channels, kernel, first_kernel, dropout)
