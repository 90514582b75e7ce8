"""A small grammar of coloured shapes: exactly one caption for each scene, and one scene for each caption."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gradlab.errors import GradlabError

SHAPES = ("circle", "square", "triangle", "cross", "ring")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
PLACES = (
    "at the top left", "at the top", "at the top right",
    "on the left", "in the centre", "on the right",
    "at the bottom left", "at the bottom", "at the bottom right",
)  # fmt: skip
"""In the order in which one reads them: those of a row after each other, from the top."""

_FOLD = 5  # of as many combinations one is held out


class Thing(NamedTuple):
    """A shape of a colour at a place, by their numbers."""

    shape: int
    colour: int
    place: int

    @property
    def held_out(self) -> bool:
        """Whether the combination is for tests alone.

        It is so for one in five, by the sum of its numbers: of every colour at every place one shape is held out, and
        each shape, colour and place, and every pair of them, is still to be seen in training.
        """
        return sum(self) % _FOLD == 0

    def __str__(self) -> str:
        colour = COLOURS[self.colour]
        return f"{'an' if colour[0] in 'aeiou' else 'a'} {colour} {SHAPES[self.shape]} {PLACES[self.place]}"


Scene = tuple[Thing, ...]
"""Some things at different places."""

COMBINATIONS = [Thing(s, c, p) for s in range(len(SHAPES)) for c in range(len(COLOURS)) for p in range(len(PLACES))]


def in_order(scene: Sequence[Thing]) -> Scene:
    """As one reads them: by their places."""
    return tuple(sorted(scene, key=lambda thing: thing.place))


def caption(scene: Sequence[Thing]) -> str:
    """What a scene shows.

    >>> caption([Thing(shape=1, colour=2, place=4), Thing(shape=0, colour=5, place=0)])
    'an orange circle at the top left and a blue square in the centre'
    """
    *first, last = map(str, in_order(scene))
    return f"{', '.join(first)} and {last}" if first else last


def named(scene: Sequence[Thing]) -> list[slice]:
    """The characters of the caption that name each thing, its colour and its shape.

    >>> scene = [Thing(shape=1, colour=2, place=4), Thing(shape=0, colour=5, place=0)]
    >>> [caption(scene)[characters] for characters in named(scene)]
    ['orange circle', 'blue square']
    """
    text, spans, at = caption(scene), [], 0
    for thing in in_order(scene):
        at = text.index(str(thing), at)
        article, colour, shape, *_ = str(thing).split()
        first = at + len(article) + 1
        spans.append(slice(first, first + len(f"{colour} {shape}")))
        at += len(str(thing))
    return spans


def parse(text: str) -> Scene:
    """The scene that a caption says, the only one.

    >>> parse("a red ring in the centre")
    (Thing(shape=4, colour=0, place=4),)
    """
    parts = re.split(", | and ", text)
    scene = tuple(_THINGS[part] for part in parts if part in _THINGS)
    if len(scene) < len(parts) or caption(scene) != text:
        raise GradlabError(f"{text!r} is no caption of coloured shapes.")
    return scene


_THINGS = {str(thing): thing for thing in COMBINATIONS}
