"""What convolutions see: feature maps of one picture, the filters that made them, and the last layer with places."""

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

    values: Float[Tensor, "batch channels rows columns"]
    slopes: Float[Tensor, "batch channels rows columns"]


def feature_maps(recording: Recording) -> list[FeatureMaps]:
    """Of every two-dimensional convolution, in the order of the calls."""
    return [
        FeatureMaps(call.name, call.outputs[0].reshape(-1, *call.outputs[0].shape[-3:])[0], call.module.weight.detach())
        for call in recording.calls
        if isinstance(call.module, nn.Conv2d)
    ]


def last_layer(recording: Recording) -> str | None:
    """The last layer whose maps are as fine as those of the last convolution; none where no convolution keeps places.

    So a network that ends in pooling has the maps before it, one that ends in a mean those that the mean is taken of,
    and a vision transformer its last tokens, which have the places of the patches.
    """
    if (last := _last_convolution(recording)) is None:
        return None
    shape = last.outputs[0].shape[-2:]
    later = recording.calls[recording.calls.index(last) :]
    return next(c.name for c in reversed(later) if (m := _maps(c, shape)) and m.values.shape[-2:] == shape)


def maps_of(recording: Recording, layer: str) -> Maps:
    """What a layer made of a batch; of tokens, with the places of the last convolution."""
    calls = [call for call in recording.calls if call.name == layer]
    if not calls:
        raise unknown("layer", layer, [call.name for call in recording.calls if call.name])
    last = _last_convolution(recording)
    maps = _maps(calls[-1], torch.Size() if last is None else last.outputs[0].shape[-2:])
    if maps is None:
        shape = tuple(calls[-1].outputs[0].shape)
        raise GradlabError(f"The layer {layer} gives shape {shape}, of which it is not known where places are.")
    return maps


def _last_convolution(recording: Recording) -> ModuleCall | None:
    """The last that has more than one place."""
    convolutions = (call for call in reversed(recording.calls) if isinstance(call.module, nn.Conv2d))
    return next((call for call in convolutions if call.outputs[0].shape[-2:].numel() > 1), None)


def _maps(call: ModuleCall, shape: torch.Size) -> Maps | None:
    """What a call gave as maps: as it is, or tokens of which there is one for each place."""
    values, slopes = call.outputs[0], call.gradients[0]
    slopes = torch.zeros_like(values) if slopes is None else slopes
    if values.ndim == 4:
        return Maps(values, slopes)
    if values.ndim == 3 and shape and values.shape[1] == shape.numel():
        return Maps(*(part.transpose(1, 2).reshape(len(part), -1, *shape) for part in (values, slopes)))
    return None
