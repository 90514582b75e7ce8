"""What the first layer looks for, where its weights can be seen as pictures."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.report.markup import Html, quiet, section, tag
from gradlab.report.pictures import picture, signed

if TYPE_CHECKING:
    from gradlab.run import Run

_MOST = 32


def weights_section(run: "Run") -> Html:
    """The first layer's weights, a picture per unit; nothing where they are no pictures."""
    maps = _maps(run)
    if maps is None:
        return Html()
    classes = run.data["targets"]["classes"] or []
    lone = len(list(run.model.parameters())) == 2  # whose units are classes
    if lone and len(classes) == len(maps) <= _MOST:
        shown = [picture(signed(m), f"weights of {name}", name) for m, name in zip(maps, classes, strict=True)]
    else:
        longest = np.argsort(-np.abs(maps).sum((1, 2)), kind="stable")[:_MOST]
        shown = [picture(signed(maps[i]), f"weights of unit {i}") for i in longest]
    words = f"{len(shown)} of {len(maps)} units, the strongest first. " if len(shown) < len(maps) else ""
    words += "Blue pixels speak for a unit, red ones against it."
    return section("First layer", quiet(words), tag("figure", tag("div", *shown, class_="pictures small")))


def _maps(run: "Run") -> npt.NDArray[Any] | None:
    """Weights (unit, height, width) of a layer that sees grey images whole, or through a window."""
    shape = run.data["inputs"].get("shape", [])
    first = next(run.model.parameters(), None)
    if first is None or len(shape) != 3 or shape[0] != 1:
        return None
    weight: npt.NDArray[Any] = first.detach().numpy()
    if weight.ndim == 4:
        return weight[:, 0]
    return weight.reshape(-1, *shape[1:]) if weight.shape[1:] == (math.prod(shape),) else None
