"""Drawings are compared as a whole, character by character."""

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from gradlab.scratch import Tensor
from gradlab.scratch.drawing import svg, text
from gradlab.scratch.functions import relu
from gradlab.scratch.layout import layout


def neuron():
    x, w, b = Tensor([1.0, -2.0], "x"), Tensor([0.5, 0.25], "w"), Tensor(0.75, "b")
    y = relu((x * w).sum() + b)
    y.name = "y"
    return y


def test_a_neuron_with_values_and_gradients():
    y = neuron()
    y.backward()
    assert text(y) == "\n".join(
        [
            "                    value    gradient",
            "y = relu             0.75           1",
            "└─ +                 0.75           1",
            "   ├─ sum               0           1",
            "   │  └─ ×     [0.5 -0.5]       [1 1]",
            "   │     ├─ x      [1 -2]  [0.5 0.25]",
            "   │     └─ w  [0.5 0.25]      [1 -2]",
            "   └─ b              0.75           1",
        ]
    )


def test_before_backward_there_are_no_gradients():
    assert text(Tensor(1.0, "a") * 2) == "\n".join(
        ["             value  gradient", "×                2", "├─ a             1", "└─ constant      2"]
    )


def test_what_is_used_again_points_to_the_first_place():
    a = Tensor(2.0, "a")
    middle = a + 1
    assert text(middle * middle) == "\n".join(
        [
            "                value  gradient",
            "×                   9",
            "├─ t1 = +           3",
            "│  ├─ a             2",
            "│  └─ constant      1",
            "└─ t1 = + ↑         3",
        ]
    )


def test_large_tensors_are_told_by_their_shape():
    assert text(Tensor(np.ones((2, 3)), "W").T).splitlines()[1:] == ["transpose    3×2", "└─ W         2×3"]


def test_the_picture_has_a_box_for_each_tensor_and_a_wire_for_each_use():
    y = neuron()
    y.backward()
    root = ElementTree.fromstring(svg(y))
    tags = [element.tag.split("}")[1] for element in root.iter()]
    assert (tags.count("rect"), tags.count("path"), tags.count("text")) == (7, 6, 21)
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"y = relu", "+", "×", "x", "w", "b", "[0.5 -0.5]"} <= set(words)


def boxes_and_wires(root):
    """Boxes as (left, top, right, bottom); wires as the points along them."""
    boxes = [
        (x, y, x + w, y + h)
        for x, y, w, h in (
            [float(e.attrib[key]) for key in ("x", "y", "width", "height")]
            for e in root.iter()
            if e.tag.endswith("rect")
        )
    ]
    wires = [_points(e.attrib["d"]) for e in root.iter() if e.tag.endswith("path")]
    return boxes, wires


def _points(path):
    """A path of straight lines (L) and Bézier curves (C), finely sampled."""
    numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
    points, rest = [numbers[0]], numbers[1:]
    for kind in re.findall("[CL]", path):
        corners, rest = np.array([points[-1], *rest[: 3 if kind == "C" else 1]]), rest[3 if kind == "C" else 1 :]
        for t in np.linspace(0, 1, 60)[1:]:
            moved = corners
            while len(moved) > 1:  # de Casteljau
                moved = (1 - t) * moved[:-1] + t * moved[1:]
            points.append(tuple(moved[0]))
    return points


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_no_wire_runs_behind_a_box_and_no_two_boxes_meet(seed, down):
    rng = np.random.default_rng(seed)
    tensors = [Tensor(float(i), f"x{i}") for i in range(3)]
    for _ in range(9):  # of any two that are there, so that many wires are long
        a, b = (tensors[i] for i in rng.integers(0, len(tensors), 2))
        tensors.append(a * b if rng.random() < 0.5 else a - b)
    root = ElementTree.fromstring(svg(sum(tensors[3:], tensors[2]), down))
    boxes, wires = boxes_and_wires(root)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        assert all(right <= x or left >= z or bottom <= y or top >= w for x, y, z, w in boxes[:i])
        for wire in wires:
            assert not any(left + 0.01 < x < right - 0.01 and top + 0.01 < y < bottom - 0.01 for x, y in wire)
    for wire in wires:
        forwards = [point[down] for point in wire]
        assert all(place <= after + 1e-9 for place, after in pairwise(forwards)), "from layer to layer"


@pytest.mark.parametrize("down", [False, True])
def test_the_first_input_meets_a_gate_above_the_second_or_left_of_it(down):
    a, b = Tensor(2.0, "a"), Tensor(3.0, "b")
    _, wires = boxes_and_wires(ElementTree.fromstring(svg((a * b) - b, down)))
    (first, second) = (wire[-1][not down] for wire in wires[-2:])
    assert first < second


def test_an_order_without_crossings_is_taken_where_there_is_one():
    ladder = {"a": [], "b": [], "c": [], "d": ["c"], "e": ["b"], "f": ["a"], "z": ["d", "e", "f"]}
    drawn = layout(ladder)
    for upper, lower in combinations([edge for edge in drawn.edges if edge[-1] != "z"], 2):
        (_, y), (_, to_y) = (drawn.places[node] for node in (upper[0], upper[-1]))
        (_, other), (_, to_other) = (drawn.places[node] for node in (lower[0], lower[-1]))
        assert (y < other) == (to_y < to_other)


def test_the_colours_are_those_of_the_page():
    picture = svg(neuron())
    assert 'fill="var(--card, #fff)"' in picture
    assert not re.search(r'(fill|stroke)="#', picture), "a colour that does not follow light and dark"


def test_names_cannot_break_the_picture():
    assert ElementTree.fromstring(svg(Tensor(1.0, '<a & "b">') * 2)) is not None
