"""A small network of convolutions behind a whitening layer, for a few epochs. Jordan 2024, arXiv:2404.00498."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.models.vision.parts import check_size
from gradlab.nn import GELU, BatchNorm, Conv2d, Linear, MaxPool2d
from gradlab.registry import Count, Positive
from gradlab.specs import Picture

_MOMENTUM = 0.4  # of running means, which have few steps to follow


@dataclass(frozen=True, kw_only=True)
class WhitenedSettings:
    """The defaults are for CIFAR-10."""

    widths: Annotated[list[Count], "channels of each stage"] = field(default_factory=lambda: [64, 256, 256])
    patch: Annotated[Count, "side of the patches that are whitened"] = 2
    scale: Annotated[Positive, "of the logits, by which the last map's rate is chosen"] = 1 / 256


class Whitening(nn.Module):
    r"""Patches along their principal axes, each divided by its deviation, and the same with their signs turned.

    $$ y = \begin{pmatrix} V \\ -V \end{pmatrix} x + b, \qquad
       V = (\Lambda + \varepsilon)^{-1/2} Q^\top, \quad \mathbb{E}\, x x^\top = Q \Lambda Q^\top $$

    The axes are those of the training pictures, which `fit` takes once, before the first step; they are not learned. b
    is. Until then V is 0. Where a sum is wide and its terms cancel, a half-precision product would leave noise: it is
    computed in float32, and leaves in the type of the products behind it.
    """

    weight: Tensor

    def __init__(self, channels: int, patch: int, eps: float = 5e-4):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.zeros(2 * channels * patch**2, channels, patch, patch))
        self.bias = nn.Parameter(torch.zeros(len(self.weight)))

    def forward(
        self, x: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch {len(self.weight)} rows columns"]:
        kind = x.device.type
        narrow = torch.is_autocast_enabled(kind)
        with torch.autocast(kind, enabled=False):
            y = F.conv2d(x.float(), self.weight, self.bias)
        return y.to(torch.get_autocast_dtype(kind)) if narrow else y

    @torch.no_grad()
    def fit(self, pictures: Float[Tensor, "batch channels height width"]) -> None:
        """The principal axes of all patches; in float64 on the CPU, so that they are the same on every device."""
        side = self.weight.shape[-1]
        patches = F.unfold(pictures.cpu(), side).transpose(1, 2).flatten(0, 1).double()
        values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
        axes = (vectors / (values.clamp(min=0) + self.eps).sqrt()).T
        self.weight.copy_(torch.cat([axes, -axes]).view_as(self.weight))


class Stage(nn.Sequential):
    """Two 3×3 convolutions, the first followed by pooling. They start by handing on the channels that there are."""

    def __init__(self, inputs: int, width: int):
        first, second = Conv2d(inputs, width, 3, padding=1, bias=False), Conv2d(width, width, 3, padding=1, bias=False)
        for convolution in (first, second):
            nn.init.dirac_(convolution.weight.data[: convolution.in_channels])
        norms = BatchNorm(width, momentum=_MOMENTUM), BatchNorm(width, momentum=_MOMENTUM)
        for norm in norms:
            norm.weight.requires_grad_(False)  # the next convolution has a scale of its own
        parts = first, MaxPool2d(2), norms[0], GELU(), second, norms[1], GELU()
        super().__init__(
            OrderedDict(zip(("conv1", "pool", "norm1", "gelu1", "conv2", "norm2", "gelu2"), parts, strict=True))
        )


class WhitenedCNN(nn.Module):
    """Patches are whitened once; stages of convolutions follow, the largest value of each channel, and a linear map."""

    def __init__(self, inputs: Picture, outputs: int, settings: WhitenedSettings):
        super().__init__()
        self.scale = settings.scale
        self.whitening = Whitening(inputs.channels, settings.patch)
        widths = [len(self.whitening.weight), *settings.widths]
        self.gelu = GELU()
        self.stages = nn.Sequential(*map(Stage, widths[:-1], widths[1:]))
        self.head = Linear(widths[-1], outputs, bias=False)
        nn.init.normal_(self.head.weight)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch outputs"]:
        features = self.stages(self.gelu(self.whitening(x))).amax((2, 3))
        logits: Tensor = self.head(features) * self.scale
        return logits

    def fit_inputs(self, pictures: Float[Tensor, "batch channels height width"]) -> None:
        if not self.whitening.weight.any():  # of a trained network, the axes are those it was trained with
            self.whitening.fit(pictures)


@models.register("whitened-cnn")
def whitened_cnn(
    inputs: Picture,
    outputs: int,
    *,
    settings: WhitenedSettings = WhitenedSettings(),
) -> nn.Module:
    """A small network for a few epochs on CIFAR-10: whitened patches, and stages of two convolutions each."""
    check_size("whitened-cnn", inputs, settings.patch - 1 + 2 ** len(settings.widths))
    return WhitenedCNN(inputs, outputs, settings)
