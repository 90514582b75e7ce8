"""Brightness, contrast and saturation, in the units that the pictures had before they were preprocessed."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.data.batch import sent

_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue (ITU-R BT.601)

Pictures = Float[Tensor, "rows channels height width"]
Factor = Float[Tensor, "rows 1 1 1"]


class Units(NamedTuple):
    """What makes raw pictures of those that a model is fed: x · scale + shift, for each channel."""

    shift: Float[Tensor, "channels 1 1"]
    scale: Float[Tensor, "channels 1 1"]

    @property
    def black(self) -> Float[Tensor, "channels 1 1"]:
        """What a raw 0 is to the model."""
        return -self.shift / self.scale

    def to(self, device: torch.device) -> "Units":
        return Units(*(sent(part, device) for part in self))


def coloured(
    pictures: Pictures, brightness: Factor | None, contrast: Factor | None, saturation: Factor | None, units: Units
) -> Pictures:
    r"""Each factor 1 changes nothing.

    $$ x ← f_b x, \qquad x ← \bar g + f_c (x - \bar g), \qquad x ← g + f_s (x - g) $$

    g is the grey of a pixel and $\bar g$ its mean over the picture. Nothing is cut off at white.
    """
    x = pictures * units.scale + units.shift
    if brightness is not None:
        x = x * brightness
    if contrast is not None:
        # In float64: how a sum is cut into parts may depend on the size of a batch.
        mean = _grey(x).sum((1, 2, 3), keepdim=True, dtype=torch.float64) / (x.shape[2] * x.shape[3])
        x = contrast * x + (1 - contrast) * mean.to(x.dtype)
    if saturation is not None:
        x = saturation * x + (1 - saturation) * _grey(x)
    return (x - units.shift) / units.scale


def _grey(x: Pictures) -> Float[Tensor, "rows 1 height width"]:
    channels = x.unbind(1)
    weights = _LUMINANCE if len(channels) == 3 else (1 / len(channels),) * len(channels)
    grey = channels[0] * weights[0]
    for weight, channel in zip(weights[1:], channels[1:], strict=True):
        grey = grey + weight * channel
    return grey[:, None]
