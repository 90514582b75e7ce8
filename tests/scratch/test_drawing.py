"""Drawings are compared as a whole, character by character."""

from xml.etree import ElementTree

import numpy as np

from gradlab.scratch import Tensor
from gradlab.scratch.drawing import svg, text
from gradlab.scratch.functions import relu


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


def test_in_the_picture_inputs_stand_left_of_what_is_made_of_them_and_no_two_boxes_meet():
    a = Tensor(2.0, "a")
    root = ElementTree.fromstring(svg((a * a + a) * 3))
    for wire in (element.attrib["d"] for element in root.iter() if element.tag.endswith("path")):
        start, *_, end = (float(point.lstrip("MC").split(",")[0]) for point in wire.split())
        assert start < end
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [
        tuple(float(e.attrib[k]) for k in ("x", "y", "width", "height")) for e in root.iter() if e.tag.endswith("rect")
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        assert min(x, y) >= 0
        assert x + w <= width
        assert y + h <= height
        for other_x, other_y, _, _ in boxes[:i]:
            assert abs(x - other_x) >= w or abs(y - other_y) >= h


def test_names_cannot_break_the_picture():
    assert ElementTree.fromstring(svg(Tensor(1.0, '<a & "b">') * 2)) is not None
