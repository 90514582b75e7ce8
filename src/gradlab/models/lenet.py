"""LeNet-5, the convolutional network of LeCun et al. 1998, with a choice of activation and pooling."""

from typing import Annotated

from torch import nn

from gradlab.errors import GradlabError
from gradlab.models.registry import models
from gradlab.nn import Conv2d, Linear
from gradlab.nn.activations import activations
from gradlab.nn.initialisation import fill_weights, initialisers
from gradlab.nn.pooling import pools
from gradlab.registry import Part
from gradlab.specs import Picture

_SMALLEST = 12  # pixels: 12 → 6 by pooling → 2 by the 5×5 convolution → 1 by pooling


@models.register("lenet")
def lenet(
    inputs: Picture,
    outputs: int,
    *,
    activation: Annotated[Part, activations, "after each layer"] = Part("relu"),  # noqa: B008
    pooling: Annotated[str, pools, "what is kept of 2×2 places"] = "max",
    init: Annotated[Part | None, initialisers, "what the weights start from; default as PyTorch does"] = None,
) -> nn.Module:
    """Two 5×5 convolutions with 2×2 pooling, then three dense layers (120, 84, outputs)."""
    if min(inputs.height, inputs.width) < _SMALLEST:
        raise GradlabError(
            f"lenet needs images of at least {_SMALLEST}×{_SMALLEST} pixels, got inputs of shape {inputs.shape}. "
            "Use model=mlp, or data with larger images."
        )

    def after_convolutions(size: int) -> int:
        return (size // 2 - 4) // 2  # same-size convolution, pool, valid convolution, pool

    network = nn.Sequential(
        Conv2d(inputs.channels, 6, 5, padding=2),
        activations.build(activation),
        pools.build(Part(pooling), 2),
        Conv2d(6, 16, 5),
        activations.build(activation),
        pools.build(Part(pooling), 2),
        nn.Flatten(),
        Linear(16 * after_convolutions(inputs.height) * after_convolutions(inputs.width), 120),
        activations.build(activation),
        Linear(120, 84),
        activations.build(activation),
        Linear(84, outputs),
    )
    return fill_weights(network, init)
