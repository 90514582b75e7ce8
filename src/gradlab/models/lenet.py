"""LeNet-5, the convolutional network of LeCun et al. 1998, with max pooling and a choice of activation."""

from typing import Annotated

from torch import nn

from gradlab.errors import GradlabError
from gradlab.models.registry import models
from gradlab.nn.activation_knobs import activations
from gradlab.registry import Part
from gradlab.specs import Picture

_SMALLEST = 12  # pixels: 12 → 6 by pooling → 2 by the 5×5 convolution → 1 by pooling


@models.register("lenet")
def lenet(
    inputs: Picture,
    outputs: int,
    *,
    activation: Annotated[Part, activations, "after each layer"] = Part("relu"),  # noqa: B008
) -> nn.Module:
    """Two 5×5 convolutions with 2×2 pooling, then three dense layers (120, 84, outputs)."""
    if min(inputs.height, inputs.width) < _SMALLEST:
        raise GradlabError(
            f"lenet needs images of at least {_SMALLEST}×{_SMALLEST} pixels, got inputs of shape {inputs.shape}. "
            "Use model=mlp, or data with larger images."
        )

    def after_convolutions(size: int) -> int:
        return (size // 2 - 4) // 2  # same-size convolution, pool, valid convolution, pool

    return nn.Sequential(
        nn.Conv2d(inputs.channels, 6, 5, padding=2),
        activations.build(activation),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        activations.build(activation),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * after_convolutions(inputs.height) * after_convolutions(inputs.width), 120),
        activations.build(activation),
        nn.Linear(120, 84),
        activations.build(activation),
        nn.Linear(84, outputs),
    )
