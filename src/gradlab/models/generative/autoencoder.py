"""Autoencoders: an example becomes a short code, of which it is made again."""

import math
from dataclasses import dataclass, field
from typing import Annotated

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.mlp import mlp
from gradlab.models.registry import models
from gradlab.models.vision.parts import check_size
from gradlab.nn import Conv2d, Linear
from gradlab.nn.activations import activations
from gradlab.registry import Count, Part
from gradlab.specs import Array, Picture, Table

Dims = Annotated[Count, "numbers in the code of an example"]
_RELU = Part("relu")

Inputs = Float[Tensor, "batch *shape"]
Codes = Float[Tensor, "batch dims"]


class Autoencoder(nn.Module):
    r"""An `encoder` before a `decoder`, from examples to codes and back.

    $$ z = f(x), \qquad \hat x = g(z) $$

    Where both are affine and the error is squared, the best that they can do is what PCA does.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, dims: int):
        super().__init__()
        self.encoder, self.decoder, self.dims = encoder, decoder, dims

    def encode(self, x: Inputs) -> Codes:
        """The code of each example."""
        code: Tensor = self.encoder(x)
        return code

    def decode(self, code: Codes) -> Inputs:
        """What a code stands for."""
        x: Tensor = self.decoder(code)
        return x

    def forward(self, x: Inputs) -> Inputs:
        return self.decode(self.encode(x))


@dataclass(frozen=True, kw_only=True)
class AutoencoderSettings:
    """Of layers that are dense."""

    dims: Dims = 16
    hidden: Annotated[
        list[Count],
        "units of each hidden layer of the encoder, in reverse of the decoder; empty for a linear map",
    ] = field(default_factory=lambda: [256, 128])
    activation: Annotated[Part, activations, "after each hidden layer"] = _RELU


@models.register("autoencoder")
def autoencoder(inputs: Array, outputs: int, *, settings: AutoencoderSettings = AutoencoderSettings()) -> nn.Module:
    """Two multilayer perceptrons, one from an example to its code and one back."""
    hidden, bend = settings.hidden, settings.activation
    encoder = mlp(inputs, settings.dims, hidden=hidden, activation=bend)
    dense = mlp(Table(settings.dims), math.prod(inputs.shape), hidden=hidden[::-1], activation=bend)
    return Autoencoder(encoder, nn.Sequential(*dense.children(), nn.Unflatten(1, inputs.shape)), settings.dims)


@dataclass(frozen=True, kw_only=True)
class ConvAutoencoderSettings:
    """Of layers that are convolutions."""

    dims: Dims = 16
    widths: Annotated[list[Count], "channels of each stage of the encoder, in reverse those of the decoder"] = field(
        default_factory=lambda: [32, 64]
    )
    activation: Annotated[Part, activations, "after each convolution but the last"] = _RELU


@models.register("conv-autoencoder")
def conv_autoencoder(
    inputs: Picture, outputs: int, *, settings: ConvAutoencoderSettings = ConvAutoencoderSettings()
) -> nn.Module:
    """Convolutions of stride 2 down to a code; back, each pixel is doubled before a convolution.

    Transposed convolutions would reach some pixels more often than others, which draws a checkerboard.
    """
    stages = len(settings.widths)
    check_size(f"conv-autoencoder of {stages} stages", inputs, 2**stages, "Give fewer model.widths, or larger images")
    channels, size = inputs.channels, (inputs.height, inputs.width)
    down, up = list[nn.Module](), list[nn.Module]()
    for width in settings.widths:
        # The last convolution of all makes the picture, and is bent by nothing.
        bend = [activations.build(settings.activation)] if up else []
        up = [nn.Upsample(size=size), Conv2d(width, channels, 3, padding=1), *bend, *up]
        down += [Conv2d(channels, width, 3, stride=2, padding=1), activations.build(settings.activation)]
        channels, size = width, (math.ceil(size[0] / 2), math.ceil(size[1] / 2))
    maps, bend = (channels, *size), [activations.build(settings.activation)]
    encoder = nn.Sequential(*down, nn.Flatten(), Linear(math.prod(maps), settings.dims))
    decoder = nn.Sequential(Linear(settings.dims, math.prod(maps)), nn.Unflatten(1, maps), *bend, *up)
    return Autoencoder(encoder, decoder, settings.dims)
