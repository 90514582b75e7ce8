"""Test-time augmentation: the mean of what a classifier says of several views of a picture."""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError

Tta = Literal["none", "flip", "flip-shift"]

Pictures = Float[Tensor, "batch channels height width"]


def check_pictures(shape: Sequence[int], tta: Tta) -> None:
    """Refuse inputs of which there are no views; `shape` is that of one of them."""
    if len(shape) != 3:
        raise GradlabError(
            f"Test-time augmentation ({tta}) is for pictures, but an input has the shape {tuple(shape)}. Leave it out."
        )


class Views(nn.Module):
    """The mean output over views: a picture and its mirror image, and half of it by both moved along the diagonal.

    They are moved by a pixel up and to the left, and down and to the right; beyond its edge a picture is reflected.
    """

    def __init__(self, model: nn.Module, tta: Tta):
        super().__init__()
        self.model, self.tta = model, tta

    def forward(self, pictures: Pictures) -> Float[Tensor, "batch outputs"]:
        outputs = self._both_sides(pictures)
        if self.tta == "flip":
            return outputs
        moved = [self._both_sides(view) for view in _shifted(pictures)]
        return (outputs + (moved[0] + moved[1]) / 2) / 2

    def _both_sides(self, pictures: Pictures) -> Tensor:
        mean: Tensor = (self.model(pictures) + self.model(pictures.flip(-1))) / 2
        return mean


def _shifted(pictures: Pictures) -> Iterator[Pictures]:
    height, width = pictures.shape[-2:]
    padded = F.pad(pictures, (1, 1, 1, 1), "reflect" if min(height, width) > 1 else "replicate")
    for start in (0, 2):
        yield padded[:, :, start : start + height, start : start + width]
