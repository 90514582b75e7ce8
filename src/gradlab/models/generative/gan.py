"""Generative adversarial networks: one network draws examples, another distinguishes them from real ones."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from gradlab.models.mlp import mlp
from gradlab.models.registry import models
from gradlab.models.vision.parts import check_size
from gradlab.nn import Conv2d, GroupNorm, LeakyReLU, Linear, ReLU
from gradlab.registry import Count, Part
from gradlab.specs import Array, Picture, Table

Latent = Annotated[Count, "numbers that a sample is made of, standard normal"]
SpectralNorm = Annotated[bool, "divide each matrix of the discriminator by its largest singular value"]

_LEAKY = Part("leaky-relu", {"negative_slope": 0.2})
_HALVINGS = 2  # of a picture, from its size to that of the maps which the latent numbers become
_GROUP = 8  # channels that are normalised together


class GAN(nn.Module):
    r"""Two networks, which learn against each other: $x = G(z)$ with $z \sim N(0, I)$, and a score $D(x)$ of any x.

    The score is a logit of being real, or a number that is only compared, as the loss wants it. Goodfellow et al. 2014,
    arXiv:1406.2661. A bound on each matrix of D bounds its slope: Miyato et al. 2018, arXiv:1802.05957. What its power
    iteration has come to lies in buffers, which checkpoints have.

    >>> model = gan(Table(2), 0, latent=3)
    >>> model.generator(model.noise(5)).shape, model.discriminator(torch.zeros(5, 2)).shape
    (torch.Size([5, 2]), torch.Size([5, 1]))
    """

    def __init__(self, generator: nn.Module, discriminator: nn.Module, latent: int, spectral_norm: bool = False):
        super().__init__()
        self.generator, self.discriminator, self.latent = generator, discriminator, latent
        if spectral_norm:
            for layer in discriminator.modules():
                if isinstance(layer, nn.Linear | nn.Conv2d):
                    parametrizations.spectral_norm(layer)

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch 1"]:
        """The score of examples."""
        score: Tensor = self.discriminator(x)
        return score

    def noise(self, count: int) -> Float[Tensor, "samples latent"]:
        """z for so many samples, from torch's own generator, whose state is in every checkpoint."""
        where = next(self.generator.parameters())
        return torch.randn(count, self.latent, device=where.device, dtype=where.dtype)


@models.register("gan")
def gan(
    inputs: Array,
    outputs: int,
    *,
    latent: Latent = 16,
    hidden: Annotated[list[Count], "units of each hidden layer of the generator"] = [128, 128],  # noqa: B006
    discriminator: Annotated[list[Count], "units of each hidden layer of the discriminator"] = [128, 128],  # noqa: B006
    spectral_norm: SpectralNorm = False,
) -> GAN:
    """Two perceptrons, one against the other: for tables and small pictures."""
    size = torch.Size(inputs.shape).numel()
    drawing = nn.Sequential(*mlp(Table(latent), size, hidden=hidden), nn.Unflatten(1, inputs.shape))  # type: ignore[misc]
    return GAN(drawing, mlp(inputs, 1, hidden=discriminator, activation=_LEAKY), latent, spectral_norm)


@models.register("conv-gan")
def conv_gan(
    inputs: Picture,
    outputs: int,
    *,
    latent: Latent = 64,
    channels: Annotated[Count, "of the largest maps; those of half the size have twice as many"] = 32,
    spectral_norm: SpectralNorm = False,
) -> GAN:
    """A generator that doubles the size of its maps twice, against a discriminator that halves it twice."""
    check_size("conv-gan", inputs, 2**_HALVINGS, "Use model=gan")
    return GAN(_drawing(inputs, latent, channels), _judging(inputs, channels), latent, spectral_norm)


def _drawing(inputs: Picture, latent: int, channels: int) -> nn.Module:
    """From latent numbers to the smallest maps; then twice larger ones, each of half the channels; cut to size."""
    height, width = (-(-size // 2**_HALVINGS) for size in inputs.shape[1:])
    wide = channels * 2**_HALVINGS
    layers = [Linear(latent, wide * height * width), nn.Unflatten(1, (wide, height, width)), *_normal(wide)]
    for _ in range(_HALVINGS):
        # Copies of pixels and a convolution: a transposed one of stride 2 would weigh pixels in a checkerboard.
        layers += [nn.Upsample(scale_factor=2), Conv2d(wide, wide // 2, 3, padding=1), *_normal(wide // 2)]
        wide //= 2
    return nn.Sequential(*layers, Conv2d(wide, inputs.channels, 3, padding=1), _Cut(inputs.height, inputs.width))


def _judging(inputs: Picture, channels: int) -> nn.Module:
    layers: list[nn.Module] = [Conv2d(inputs.channels, channels, 3, padding=1), LeakyReLU(0.2)]
    height, width = inputs.height, inputs.width
    for _ in range(_HALVINGS):
        layers += [Conv2d(channels, 2 * channels, 4, stride=2, padding=1), LeakyReLU(0.2)]
        channels, height, width = 2 * channels, height // 2, width // 2
    return nn.Sequential(*layers, nn.Flatten(), Linear(channels * height * width, 1))


def _normal(channels: int) -> list[nn.Module]:
    """Each picture by itself: statistics of a batch would make its samples depend on each other."""
    return [GroupNorm(max(1, channels // _GROUP) if channels % _GROUP == 0 else 1, channels), ReLU()]


class _Cut(nn.Module):
    """The upper left of maps that are larger than a picture whose size is no multiple of theirs."""

    def __init__(self, height: int, width: int):
        super().__init__()
        self.height, self.width = height, width

    def forward(self, x: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch channels height width"]:
        return x[..., : self.height, : self.width]
