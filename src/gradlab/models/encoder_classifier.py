"""A classifier on the encoder of another model, whose weights may have been learned without any labels."""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.registry import models
from gradlab.nn import Linear
from gradlab.nn.modes import evaluating
from gradlab.registry import Part
from gradlab.specs import Array

_AUTOENCODER = Part("autoencoder")


class EncoderClassifier(nn.Module):
    r"""A linear map of what an `encoder` makes of an example.

    $$ y = W f(x) + b $$
    """

    def __init__(self, encoder: nn.Module, features: int, outputs: int):
        super().__init__()
        self.encoder, self.head = encoder, Linear(features, outputs)

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch outputs"]:
        y: Tensor = self.head(self.encoder(x))
        return y


@models.register("encoder-classifier")
def encoder_classifier(
    inputs: Array,
    outputs: int,
    *,
    of: Annotated[Part, models, "the model whose encoder it is, such as autoencoder"] = _AUTOENCODER,
) -> nn.Module:
    """A last layer on the encoder of another model: try it with --from a run of that model."""
    encoder = getattr(models.build(of, inputs, 1), "encoder", None)
    if not isinstance(encoder, nn.Module):
        raise GradlabError(f"model.of={of.name} has no encoder. Take one that has, such as autoencoder.")
    return EncoderClassifier(encoder, _features(encoder, inputs, of.name), outputs)


def _features(encoder: nn.Module, inputs: Array, name: str) -> int:
    """How many numbers it makes of an example."""
    with torch.no_grad(), evaluating(encoder):
        code = encoder(next(encoder.parameters()).new_zeros(1, *inputs.shape))
    if not isinstance(code, Tensor) or code.ndim != 2:
        raise GradlabError(f"model.of={name} makes no list of numbers of an example. Take autoencoder.")
    return code.shape[1]
