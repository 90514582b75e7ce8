"""Pictures of coloured shapes: what is drawn is in its box, of its colour, and a function of the number alone."""

import numpy as np
import pytest

from gradlab.data.captions.drawing import SIZE, draw
from gradlab.data.captions.grammar import COLOURS, COMBINATIONS, SHAPES, Thing
from gradlab.data.captions.scenes import MOST, example

COLOURED = 60  # by which channels of ink differ: greys, with their noise, do so by less


def saturation(pixels):
    values = pixels.astype(int)
    return values.max(0) - values.min(0)


@pytest.mark.parametrize("number", range(40))
def test_the_boxes_contain_the_coloured_pixels_and_touch_them(number):
    scene, drawn = example(3, number)
    coloured = saturation(drawn.pixels) > COLOURED
    inside = np.zeros_like(coloured)
    for left, top, right, bottom in drawn.boxes:
        box = coloured[top:bottom, left:right]
        # The outermost pixels may be hardly covered.
        assert all(edge.any() for edge in (box[:3], box[-3:], box[:, :3], box[:, -3:]))
        assert not inside[top:bottom, left:right].any()
        inside[top:bottom, left:right] = True
    assert len(drawn.boxes) == len(scene)
    assert not coloured[~inside].any()


@pytest.mark.parametrize("thing", [thing for thing in COMBINATIONS if thing.place == 4], ids=str)
def test_a_thing_has_its_colour(thing):
    drawn = draw((thing,), np.random.default_rng(1))
    left, top, right, bottom = drawn.boxes[0]
    pixels = drawn.pixels[:, top:bottom, left:right].astype(int)
    place = np.unravel_index(saturation(pixels).argmax(), pixels.shape[1:])
    red, green, blue = pixels[:, place[0], place[1]]
    strongest = {
        "red": red > 2 * max(green, blue),
        "green": green > 1.5 * max(red, blue),
        "blue": blue > 1.5 * max(red, green),
        "yellow": min(red, green) > 2 * blue and abs(red - green) < 80,
        "purple": min(red, blue) > 1.4 * green,
        "orange": red > 1.5 * green > 1.5 * blue,
    }
    assert strongest[COLOURS[thing.colour]]


def test_the_shapes_cover_as_much_as_theirs_do():
    """Their areas by counting pixels, against those of geometry."""
    r = 4.3
    areas = {
        "circle": np.pi * r**2,
        "square": (2 * 0.85 * r) ** 2,
        "cross": (2 * r) ** 2 - 4 * (0.67 * r) ** 2,
        "ring": np.pi * (r**2 - (0.5 * r) ** 2),
        "triangle": (1.9 * r) ** 2 * 0.5 / 0.87,
    }
    for shape, name in enumerate(SHAPES):
        scenes = [draw((Thing(shape, 2, 4),), np.random.default_rng(i)) for i in range(200)]
        blue = np.mean([(saturation(s.pixels) > COLOURED).sum() for s in scenes])
        assert blue == pytest.approx(areas[name], rel=0.15), name


def test_a_picture_follows_from_seed_and_number():
    one, again, other, later = example(1, 5), example(1, 5), example(2, 5), example(1, 6)
    assert one[0] == again[0]
    assert np.array_equal(one[1].pixels, again[1].pixels)
    for different in (other, later):
        assert not np.array_equal(one[1].pixels, different[1].pixels)
    assert one[1].pixels.shape == (3, SIZE, SIZE)
    assert one[1].pixels.dtype == np.uint8


def test_held_out_combinations_are_in_no_other_picture():
    seen, held = ({t for i in range(300) for t in example(0, i, held_out=h)[0]} for h in (False, True))
    assert not seen & held
    assert held == {thing for thing in COMBINATIONS if thing.held_out}
    assert {len(example(0, i)[0]) for i in range(30)} == set(range(1, MOST + 1))
