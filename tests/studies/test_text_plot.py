"""A curve in characters has the shape of the curve."""

import math
from itertools import pairwise

from gradlab.studies.text_plot import text_plot


def heights(lines):
    """For each column of dots, the row of its lowest dot, counted from the top."""
    bits = {(0, 0): 1, (1, 0): 2, (2, 0): 4, (3, 0): 64, (0, 1): 8, (1, 1): 16, (2, 1): 32, (3, 1): 128}
    width = min(map(len, lines))
    found = []
    for column in range(2 * width):
        rows = [
            4 * r + dot
            for r, line in enumerate(lines)
            for dot in range(4)
            if (ord(line[column // 2]) - 0x2800) & bits[dot, column % 2]
        ]
        found.append(rows)
    return found


def test_every_column_has_its_dot_and_the_curve_does_not_fall_apart():
    values = [math.sin(i / 5) for i in range(60)] + [5.0] * 20
    *body, _ = text_plot(values, width=40, height=6)
    columns = heights([line[-40:] for line in body])
    assert all(columns)
    for before, after in pairwise(columns):
        assert min(after) <= max(before) + 1
        assert max(after) >= min(before) - 1


def test_high_is_up_and_the_ends_are_named():
    lines = text_plot([0.0, 10.0], width=10, height=3, labels=("left", "right"))
    columns = heights([line[-10:] for line in lines[:-1]])
    assert max(columns[0]) > min(columns[-1])
    assert lines[0].startswith("10 ")
    assert lines[2].startswith(" 0 ")
    assert lines[-1].split() == ["left", "right"]


def test_a_flat_curve_and_a_single_value_are_drawn():
    assert len(text_plot([1.0], width=5, height=2)) == 3
    assert len(text_plot([1.0] * 9, width=5, height=2)) == 3
