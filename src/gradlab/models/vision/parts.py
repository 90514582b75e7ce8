"""What networks of pictures have in common: their stems, the mean at their end, and the least size of a picture."""

from typing import Annotated, Literal

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.initialisation import initialisers
from gradlab.registry import Part
from gradlab.specs import Picture

_LARGE = 64  # pixels, from which on a picture is made four times smaller before the first stage

Stem = Annotated[
    Literal["large", "small"] | None,
    f"first layers: 7×7 of stride 2 and pooling, or 3×3; default small below {_LARGE} pixels",
]
Init = Annotated[Part | None, initialisers, "what the weights start from; none: as PyTorch does"]
HE = Part("he")

_OTHERS = "Use model=mlp, or data with larger images"


def stem_for(inputs: Picture, chosen: str | None) -> str:
    """The stem that was chosen, or the one that suits the size of the pictures."""
    return chosen or ("large" if _shorter(inputs) >= _LARGE else "small")


def check_size(model: str, inputs: Picture, least: int, advice: str = _OTHERS) -> None:
    """Refuse pictures of which nothing would be left on their way through a model."""
    if _shorter(inputs) < least:
        raise GradlabError(
            f"{model} needs images of at least {least}×{least} pixels, got inputs of shape {inputs.shape}. {advice}."
        )


def check_reduced(model: str, inputs: Picture, stem: str, halvings: int) -> None:
    """The same for a model whose stages halve the pictures so often, after a stem that does so twice if it is large."""
    advice = "Set model.stem=small" if stem == "large" and _shorter(inputs) >= 2**halvings else "Use model=mlp"
    least = 2 ** (halvings + 2 * (stem == "large"))
    check_size(f"{model} with the {stem} stem", inputs, least, f"{advice}, or take larger images")


class GlobalAverage(nn.Module):
    """Each channel's mean over all places."""

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch channels"]:
        return x.mean((2, 3))


def _shorter(inputs: Picture) -> int:
    return min(inputs.height, inputs.width)
