"""What the first layer looks for, where its weights can be seen as pictures."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, quiet, section, tag
from gradlab.report.pictures import is_picture, picture, weight_pixels

if TYPE_CHECKING:
    from gradlab.run import Run

_MOST = 32
_GREY = "Blue pixels speak for a unit, red ones against it."
_COLOURED = "Each in the colours that speak for it: grey is 0."


def weights_section(run: "Run") -> Html:
    """The first layer's weights, a picture per unit; nothing where they are no pictures."""
    maps = _weights(run)
    if maps is None:
        return Html()
    classes = run.data["targets"]["classes"] or []
    lone = len(list(run.model.parameters())) == 2  # whose units are classes
    if lone and len(classes) == len(maps) <= _MOST:
        shown = [picture(weight_pixels(m), f"weights of {name}", name) for m, name in zip(maps, classes, strict=True)]
    else:
        longest = np.argsort(-np.abs(maps).sum((1, 2, 3)), kind="stable")[:_MOST]
        shown = [picture(weight_pixels(maps[i]), f"weights of unit {i}") for i in longest]
    words = f"{len(shown)} of {len(maps)} units, the strongest first. " if len(shown) < len(maps) else ""
    words += _GREY if maps.shape[1] == 1 else _COLOURED
    return section("First layer", quiet(words), tag("figure", tag("div", *shown, class_="pictures small")))


def _weights(run: "Run") -> npt.NDArray[Any] | None:
    """Weights (unit, channel, height, width) of a layer that sees images whole, or through a window."""
    shape = run.data["inputs"].get("shape", [])
    first = next(run.model.parameters(), None)
    if first is None or not is_picture(shape):
        return None
    weight: npt.NDArray[Any] = first.detach().numpy()
    if weight.ndim == 4 and weight.shape[1] == shape[0]:
        return weight
    return weight.reshape(-1, *shape) if weight.shape[1:] == (math.prod(shape),) else None
