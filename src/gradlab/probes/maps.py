"""What convolutions see: their feature maps of one picture, and the filters that made them."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.probes.recording import Recording


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """One convolution over pictures, on the first example."""

    name: str
    maps: Float[Tensor, "channels height width"]
    filters: Float[Tensor, "channels inputs rows columns"]


def feature_maps(recording: Recording) -> list[FeatureMaps]:
    """Of every two-dimensional convolution, in the order of the calls."""
    return [
        FeatureMaps(call.name, call.outputs[0].reshape(-1, *call.outputs[0].shape[-3:])[0], call.module.weight.detach())
        for call in recording.calls
        if isinstance(call.module, nn.Conv2d)
    ]
