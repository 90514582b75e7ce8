"""What of pictures speaks for classes, by each method that a model allows, within so many operations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.cost import forward_flops
from gradlab.nn.modes import evaluating
from gradlab.probes import saliency

Map = Float[Tensor, "rows columns"]
Pictures = Float[Tensor, "batch channels height width"]

GRADIENT, INTEGRATED, GRAD_CAM, OCCLUSION = METHODS = ("gradient", "integrated gradients", "Grad-CAM", "occlusion")


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribution:
    """What of one picture speaks for a class, in its score: above 0 for it, below 0 against it.

    Where a picture has channels, these are added up: of the gradient it is then what a brighter pixel would do.
    """

    picture: npt.NDArray[Any]
    """As it is in the world: (channels, height, width)."""

    example: int
    """Which of the batch it is."""

    label: str
    actual: str | None
    """Its true class, where that is known."""

    probability: float
    difference: float
    """How much higher the score is than that of a picture of zeros, which integrated gradients divide among pixels."""

    maps: dict[str, Map]
    """By the name of the method. Those of Grad-CAM have the places of a layer, others those of the picture."""

    def plain(self) -> dict[str, Any]:
        """As JSON knows it, without the pictures: of each map the sum and the ends."""
        ends = {m: {"sum": v.sum().item(), "low": v.min().item(), "high": v.max().item()} for m, v in self.maps.items()}
        values = {"example": self.example, "label": self.label, "actual": self.actual, "probability": self.probability}
        return {**values, "difference": self.difference, "maps": ends}


@dataclass(frozen=True, eq=False)
class Attributions:
    """Several of them, and what the user should know of how they were made."""

    items: list[Attribution] = field(default_factory=list)
    layer: str | None = None
    """Whose maps Grad-CAM shows."""

    notes: list[str] = field(default_factory=list)


class Question(NamedTuple):
    """A picture as it is in the world and as a model takes it, and a class that is asked about."""

    picture: npt.NDArray[Any]
    x: Float[Tensor, "channels height width"]
    label: int
    actual: int | None
    example: int


def questions(
    pictures: npt.NDArray[Any], x: Pictures, predicted: Sequence[int], actual: Sequence[int] | None
) -> list[Question]:
    """Of each picture what speaks for the predicted class, and where that is wrong, for the actual one too."""
    wanted = []
    for i, guess in enumerate(predicted):
        known = None if actual is None else actual[i]
        labels = [guess] if known is None or known == guess else [guess, known]
        wanted += [Question(pictures[i], x[i], label, known, i) for label in labels]
    return wanted


class Effort(NamedTuple):
    """How finely integrals and windows are taken."""

    steps: int
    overlap: int

    def stride(self, x: Pictures) -> int:
        return max(1, saliency.default_window(x) // self.overlap)

    def passes(self, x: Pictures) -> int:
        """Forward passes for one picture; one with its way back counts for three."""
        windows = saliency.window_count(x, saliency.default_window(x), self.stride(x))
        return 3 * (1 + self.steps + 1) + windows


_FINE, _COARSE = Effort(32, 2), Effort(12, 1)


def attributions(model: nn.Module, wanted: list[Question], names: list[str], operations: float) -> Attributions:
    """Of as many as can be had for so many operations, the first ones, and of one at least."""
    x, classes = torch.stack([one.x for one in wanted]), torch.tensor([one.label for one in wanted])
    count, effort = _affordable(model, x, operations)
    x, classes, layer = x[:count], classes[:count], saliency.grad_cam_layer(model, x)
    cam = {} if layer is None else {GRAD_CAM: saliency.grad_cam(model, x, classes, layer)}
    maps = {
        GRADIENT: saliency.gradient(model, x, classes).sum(1),
        INTEGRATED: saliency.integrated_gradients(model, x, classes, steps=effort.steps).sum(1),
        **cam,
        OCCLUSION: saliency.occlusion(model, x, classes, stride=effort.stride(x)),
    }
    with evaluating(model), torch.no_grad():
        scores, empty = (saliency.class_scores(model(part)) for part in (x, torch.zeros_like(x[:1])))
    chances, differences = scores.double().softmax(1), scores - empty
    items = [
        Attribution(
            picture=one.picture,
            example=one.example,
            label=names[one.label],
            actual=None if one.actual is None else names[one.actual],
            probability=chances[i, one.label].item(),
            difference=differences[i, one.label].item(),
            maps={method: values[i] for method, values in maps.items()},
        )
        for i, one in enumerate(wanted[:count])
    ]
    notes = ["There is no Grad-CAM: no convolution of the model keeps the places of a picture."] * (layer is None)
    if count < len(wanted):
        notes.append(f"{count} of {len(wanted)} are shown: the model is large, and each takes long.")
    return Attributions(items, layer, notes)


def _affordable(model: nn.Module, x: Pictures, operations: float) -> tuple[int, Effort]:
    """How many pictures, and how finely: a function of what the model costs, not of a clock."""
    once = max(1, forward_flops(model, x[:1]))
    effort = _FINE if len(x) * once * _FINE.passes(x) <= operations else _COARSE
    return min(len(x), max(1, int(operations // (once * effort.passes(x))))), effort
