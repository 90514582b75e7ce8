"""What convolutions see: their feature maps of one picture, the filters that made them, and the last maps of a model."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError, unknown
from gradlab.probes.recording import ModuleCall, Recording


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """One convolution over pictures, on the first example."""

    name: str
    maps: Float[Tensor, "channels height width"]
    filters: Float[Tensor, "channels inputs rows columns"]


@dataclass(frozen=True, eq=False)
class Maps:
    """What one layer made of a batch, a number for each place of a picture; and the slopes of the loss there."""

    name: str
    values: Float[Tensor, "batch channels rows columns"]
    slopes: Float[Tensor, "batch channels rows columns"]


class NoMaps(GradlabError):
    """A model of which no layer keeps the places of a picture."""


def feature_maps(recording: Recording) -> list[FeatureMaps]:
    """Of every two-dimensional convolution, in the order of the calls."""
    return [
        FeatureMaps(call.name, call.outputs[0].reshape(-1, *call.outputs[0].shape[-3:])[0], call.module.weight.detach())
        for call in recording.calls
        if isinstance(call.module, nn.Conv2d)
    ]


def last_maps(recording: Recording, layer: str | None = None) -> Maps:
    """The maps of a layer by its name; by default the last ones that are as fine as those of the last convolution.

    So a network that ends in pooling has the maps before it, one that ends in a mean those that the mean is taken of,
    and a vision transformer its last tokens, which have the places of the patches. Nothing is finer than a place of 1×1.
    """
    calls = recording.calls
    convolutions = [call for call in calls if isinstance(call.module, nn.Conv2d) and _places(call.outputs[0]) > 1]
    shape = convolutions[-1].outputs[0].shape[-2:] if convolutions else torch.Size((0, 0))
    if layer is not None:
        named = [call for call in calls if call.name == layer]
        if not named:
            raise unknown("layer", layer, [call.name for call in calls if call.name])
        if (maps := _maps(named[-1], shape)) is None:
            raise GradlabError(
                f"The layer {layer} gives shape {tuple(named[-1].outputs[0].shape)}, in which no places are known."
            )
        return maps
    if not convolutions:
        raise NoMaps("No layer of this model is a convolution that keeps the places of a picture.")
    later = [maps for call in calls[calls.index(convolutions[-1]) :] if (maps := _maps(call, shape)) is not None]
    return next(maps for maps in reversed(later) if maps.values.shape[-2:] == shape)


def _places(output: Tensor) -> int:
    return output.shape[-2] * output.shape[-1] if output.ndim == 4 else 0


def _maps(call: ModuleCall, shape: torch.Size) -> Maps | None:
    """What a call gave as maps: as it is, or tokens of which there is one for each place."""
    values, slopes = call.outputs[0], call.gradients[0]
    slopes = torch.zeros_like(values) if slopes is None else slopes
    if values.ndim == 4:
        return Maps(call.name, values, slopes)
    if values.ndim == 3 and values.shape[1] == shape.numel():
        return Maps(call.name, *(part.transpose(1, 2).unflatten(2, shape) for part in (values, slopes)))
    return None
