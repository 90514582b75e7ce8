from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gradlab.explanation.boxes import BRACKETS, Box, column, row, table

HALF = Box(("1", "─", "2"), baseline=1)
X = Box(("x",))

words = st.builds(lambda text: Box((text,)), st.sampled_from(["", "x", "x̂", "α + β", "x̄ỹ", "𝔼", "softmax"]))
sides = st.sampled_from(["left", "center", "right"])


def combined(boxes):
    return st.one_of(
        st.builds(Box.beside, boxes, boxes),
        st.builds(Box.above, boxes, boxes, sides),
        st.builds(Box.below, boxes, boxes, sides),
        st.builds(Box.bracket, boxes, st.sampled_from(sorted(BRACKETS))),
        st.builds(row, st.lists(boxes, max_size=3)),
        st.builds(column, st.lists(boxes, min_size=1, max_size=3)),
        st.builds(
            lambda a, b, c, d, left, right: table([[a, b], [c, d]], [left, right], [0, 2]),
            *([boxes] * 4),
            sides,
            sides,
        ),
    )


boxes = st.recursive(words, combined, max_leaves=12)


def lines(*content, baseline):
    return Box(content, baseline)


@given(boxes)
def test_every_line_of_a_box_has_the_same_width_and_one_of_them_is_the_baseline(box):
    assert {cell_len(line) for line in box.lines} == {box.width}
    assert 0 <= box.baseline < box.height
    assert box.baseline + 1 + box.depth == box.height


@given(boxes, boxes)
def test_boxes_side_by_side_share_their_baseline(left, right):
    both = left.beside(right)
    assert both.lines[both.baseline] == left.lines[left.baseline] + right.lines[right.baseline]
    assert both.height == max(left.baseline, right.baseline) + 1 + max(left.depth, right.depth)


@given(boxes, boxes)
def test_a_box_keeps_its_baseline_above_and_below_another(box, other):
    above, below = box.above(other), box.below(other)
    assert box.lines[box.baseline] in above.lines[above.baseline]
    assert box.lines[box.baseline] in below.lines[below.baseline]
    assert above.height == below.height == box.height + other.height


def test_a_low_box_beside_a_tall_one():
    assert HALF.beside(X) == lines("1 ", "─x", "2 ", baseline=1)
    assert X.beside(HALF) == lines(" 1", "x─", " 2", baseline=1)


def test_a_combining_accent_takes_no_room():
    assert Box(("x̂",)).above(Box(("abc",))) == lines(" x̂ ", "abc", baseline=0)


def test_sides():
    wide = Box(("abcd",))
    assert X.above(wide, "left").lines == ("x   ", "abcd")
    assert X.above(wide).lines == (" x  ", "abcd")
    assert X.above(wide, "right").lines == ("   x", "abcd")


def test_only_a_box_with_lines_on_both_sides_of_its_baseline_is_tall():
    assert HALF.is_tall
    assert not any(box.is_tall for box in (X, X.above(X), X.below(X)))


def test_brackets_are_as_tall_as_the_box():
    four = Box(("a",) * 4, baseline=2)
    assert X.bracket("(") == Box(("(",))
    assert X.above(X).bracket("[") == lines("⎡", "⎣", baseline=0)
    assert "".join(four.bracket("(").lines) == "⎛⎜⎜⎝"
    assert "".join(four.bracket("⌋").lines) == "⎥⎥⎥⎦"
    assert "".join(four.bracket("‖").lines) == "║║║║"


def test_the_waist_of_a_brace_is_at_the_baseline_where_it_can_be():
    assert "".join(HALF.bracket("{").lines) == "⎧⎨⎩"
    assert "".join(Box(("a",) * 5, baseline=3).bracket("}").lines) == "⎫⎪⎪⎬⎭"
    assert "".join(Box(("a",) * 4, baseline=0).bracket("{").lines) == "⎧⎨⎪⎩"
    assert "".join(X.above(X).bracket("{").lines) == "⎧⎩"


def test_a_table_of_low_rows_is_close_and_one_of_tall_rows_is_not():
    wide = Box(("abc",))
    assert table([[X, wide], [wide, X], [X, X]], ["right", "left"], [0, 1]) == lines(
        "  x abc",
        "abc x  ",
        "  x x  ",
        baseline=1,
    )
    assert table([[X, X], [HALF, X]], ["center", "center"], [0, 2]) == lines(
        "x  x",
        "    ",
        "1   ",
        "─  x",
        "2   ",
        baseline=2,
    )


def test_two_rows_at_the_left_leave_a_line_for_the_waist_of_a_brace():
    assert table([[X], [X]], ["left"], [0]) == lines("x", " ", "x", baseline=1)
    assert table([[X], [X]], ["center"], [0]) == lines("x", "x", baseline=0)
