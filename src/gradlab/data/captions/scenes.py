"""Which things are in a picture: a pure function of (seed, number of the picture)."""

import numpy as np

from gradlab.data.captions.drawing import Drawn, draw
from gradlab.data.captions.grammar import COMBINATIONS, PLACES, Scene, Thing, in_order

MOST = 3
"""Things in a picture."""


def example(seed: int, number: int, *, held_out: bool = False) -> tuple[Scene, Drawn]:
    """One scene and its picture. All of its combinations are held out, or none of them is.

    >>> scene, drawn = example(seed=0, number=7)
    >>> len(scene) == len(drawn.boxes), drawn.pixels.shape
    (True, (3, 36, 36))
    """
    generator = np.random.default_rng([seed, number, held_out])
    places = generator.permutation(len(PLACES))[: generator.integers(1, MOST + 1)]
    scene = in_order([_drawn_from(_AT[held_out][place], generator) for place in places])
    return scene, draw(scene, generator)


def _drawn_from(some: list[Thing], generator: np.random.Generator) -> Thing:
    return some[generator.integers(len(some))]


_AT = {
    held_out: [[t for t in COMBINATIONS if t.place == place and t.held_out == held_out] for place in range(len(PLACES))]
    for held_out in (False, True)
}
