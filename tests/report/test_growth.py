"""Pictures of growth: powers are straight lines, and the legend says which."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from gradlab.report.growth import Line, growth_picture, share_picture

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*lines, by=growth_picture):
    root = ElementTree.fromstring(by("Milliseconds", "tokens", lines))
    paths = [path.get("d") for path in root.iter(f"{SVG}path")][: len(lines)]
    points = [[tuple(map(float, pair.split(","))) for pair in re.split("[ML]", path) if pair] for path in paths]
    return root, points


def test_a_power_is_a_straight_line_and_its_exponent_is_told():
    square = Line(name="square", figures={n: 1e-6 * n**2 for n in (1024, 4096, 65536)}, exponent=2.0)
    root, (points,) = drawn(square)
    slopes = [(y - b) / (x - a) for (a, b), (x, y) in pairwise(points)]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-2)
    assert slopes[0] < 0  # upwards
    assert "square ∝ n^2.00" in ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def test_the_legend_has_the_highest_first_and_lengths_without_a_figure_are_left_out():
    low = Line(name="low", figures={16: 1.0, 64: 2.0}, exponent=0.5)
    high = Line(name="high & wide", figures={16: 3.0, 64: None}, exponent=None)
    nothing = Line(name="nothing", figures={16: None}, exponent=None)
    root, points = drawn(low, high, nothing)
    words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert [word for word in words if word in ("low ∝ n^0.50", "high & wide", "nothing")] == [
        "high & wide",
        "low ∝ n^0.50",
    ]
    assert [len(line) for line in points[:2]] == [1, 2]


def test_nothing_to_draw_is_an_empty_picture():
    root, _ = drawn()
    assert root.tag == f"{SVG}svg"


def test_shares_stand_between_0_and_1_whatever_they_are():
    all_right = Line(name="all", figures={5: 1.0, 50: 1.0, 500: 1.0})
    half, none = Line(name="half", figures={5: 0.5, 500: 0.5}), Line(name="none", figures={5: 0.0, 500: -0.3})
    root, points = drawn(all_right, half, none, by=share_picture)
    assert [x for x, _ in points[0]][1] == pytest.approx(sum(x for x, _ in points[1]) / 2), "a decade each"
    heights = [{y for _, y in line} for line in points]
    assert [len(one) for one in heights] == [1, 1, 1]
    (top,), (middle,), (bottom,) = heights
    assert top < middle < bottom
    assert middle == pytest.approx((top + bottom) / 2)
    words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert [word for word in words if word.endswith("%")] == ["0%", "25%", "50%", "75%", "100%"]


def test_a_figure_of_0_has_no_place_on_a_logarithmic_axis():
    _, (points,) = drawn(Line(name="a", figures={16: 0.0, 64: 2.0}))
    assert len(points) == 1
