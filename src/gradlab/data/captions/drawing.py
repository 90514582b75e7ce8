"""Coloured shapes as pixels: each is a function that says how far a point is from its outline."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gradlab.data.captions.grammar import COLOURS, PLACES, SHAPES, Scene, Thing

SIZE = 36
"""Pixels of a side: three places, of twelve pixels each."""

_ACROSS = 3
_PLACE = SIZE // _ACROSS
_RADIUS = (3.6, 5.0)
_SHIFT = 0.8  # pixels that a shape may be off the middle of its place
_INK = {
    "red": (214, 40, 40),
    "green": (46, 160, 67),
    "blue": (52, 92, 220),
    "yellow": (244, 211, 49),
    "purple": (140, 66, 190),
    "orange": (240, 130, 30),
}
_TINT = 12  # by which a colour may be off, in each channel
_GROUND = (30, 225)  # greys behind the shapes
_NOISE = 6.0

Field = npt.NDArray[np.float64]
Box = tuple[int, int, int, int]
"""Left, top, right and bottom of pixels, the last two behind the last of them."""


class Drawn(NamedTuple):
    """A picture, channels first, and the box of each thing in it, in the order of the scene."""

    pixels: npt.NDArray[np.uint8]
    boxes: list[Box]


def _circle(x: Field, y: Field, r: float) -> Field:
    return np.hypot(x, y) - r


def _square(x: Field, y: Field, r: float) -> Field:
    return np.maximum(abs(x), abs(y)) - 0.85 * r


def _triangle(x: Field, y: Field, r: float) -> Field:
    """Point up: below it two slopes, and a base."""
    return np.maximum(y - 0.8 * r, abs(x) * 0.87 - 0.5 * y - 0.55 * r)


def _cross(x: Field, y: Field, r: float) -> Field:
    long, short = np.maximum(abs(x), abs(y)), np.minimum(abs(x), abs(y))
    return np.maximum(long - r, short - 0.33 * r)


def _ring(x: Field, y: Field, r: float) -> Field:
    return abs(np.hypot(x, y) - 0.75 * r) - 0.25 * r


_OUTLINES: dict[str, Callable[[Field, Field, float], Field]] = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "cross": _cross,
    "ring": _ring,
}


def draw(scene: Scene, generator: np.random.Generator) -> Drawn:
    """A picture of a scene: grey with some noise, and on it its things, none of which covers another."""
    ground = generator.uniform(*_GROUND) + generator.normal(0, _NOISE, (3, SIZE, SIZE))
    boxes = []
    for thing in scene:
        cover = _cover(thing, generator)
        ink = np.array(_INK[COLOURS[thing.colour]]) + generator.uniform(-_TINT, _TINT, 3)
        ground += cover * (ink[:, None, None] - ground)
        boxes.append(_box(cover))
    return Drawn(np.clip(np.rint(ground), 0, 255).astype(np.uint8), boxes)


def _cover(thing: Thing, generator: np.random.Generator) -> Field:
    """How much of each pixel a thing covers: all of it within the outline, and a part of it along that."""
    row, column = divmod(thing.place, _ACROSS)
    shift = generator.uniform(-_SHIFT, _SHIFT, 2)
    middle = (np.array([row, column]) + 0.5) * _PLACE + shift
    y, x = (np.arange(SIZE) + 0.5 - at for at in middle)
    outside = _OUTLINES[SHAPES[thing.shape]](x[None, :], y[:, None], generator.uniform(*_RADIUS))
    cover: Field = np.clip(0.5 - outside, 0.0, 1.0)
    return cover


def _box(cover: Field) -> Box:
    rows, columns = (np.flatnonzero(cover.any(axis)) for axis in (1, 0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


assert len(PLACES) == _ACROSS**2
