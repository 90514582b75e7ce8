import csv
import io
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradlab.data.tables import blocks
from gradlab.data.tables.blocks import Block, cut

DIGITS = st.text("0123456789", max_size=20)
PLAIN = st.builds("{}{}{}{}".format, st.sampled_from(["", "-", "+"]), DIGITS, st.sampled_from(["", "."]), DIGITS)
NUMBERS = st.one_of(
    PLAIN,
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e6, 1e6).map("{:.17g}".format),
    st.sampled_from(
        ["", "NA", "-", ".", "inf", "-0.0", "-0", "1_0", "1.2.3", "2001-01-01", "1e5", "0x1", "1;2", "5 6"]
    ),
)


def block_of(rows, separator=",", **options):
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator="\n", **options).writerows(rows)
    return cut(file.getvalue().encode(), separator, len(rows[0]), 1)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.just("text")), min_size=1, max_size=8), st.sampled_from(".,"))
@example([("0.1", "-0.0", "text"), ("12345678901234567", "0.30000000000000004", "text")], ".")
@example([("9007199254740993", "1", "text"), ("1", "1.2.3", "text")], ".")
def test_numbers_from_bytes_have_the_bits_that_they_have_one_by_one(rows, decimal):
    rows = [tuple(value.replace(".", decimal) for value in row) for row in rows]
    found = block_of(rows, ";" if decimal == "," else ",")
    want, want_good = Block(list(zip(*rows, strict=True)), range(len(rows))).numbers([0, 1, 2], decimal)
    numbers, good = found.numbers([0, 1, 2], decimal)
    assert good == want_good
    for values, wanted, is_good in zip(numbers, want, good, strict=True):
        assert not is_good or values.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("digits", [3, 15, 16, 17, 18, 19])
def test_numbers_of_any_length_are_rounded_once(rng, digits):
    values = rng.normal(size=20_000) * 10.0 ** rng.integers(-3, 4, 20_000)
    texts = [f"{value:.{digits}g}" for value in values]
    (found,), good = block_of([(text, "") for text in texts]).numbers([0], ".")
    assert good == [True]
    assert found.tolist() == [float(text) for text in texts]


def test_a_quotient_half_way_between_two_floats_is_not_rounded_twice():
    """Whole numbers of 18 digits beside the middle of two floats, which a long double cannot tell from it."""
    if blocks._DIGITS < 18:
        pytest.skip("a long double is a float here")
    texts = [f"0.{middle + off:018d}" for middle in _middles() for off in (-1, 0, 1)]
    (found,), _ = block_of([(text, "") for text in texts]).numbers([0], ".")
    assert found.tolist() == [float(text) for text in texts]


def _middles():
    from fractions import Fraction

    start = 0.5
    for _ in range(200):
        above = math.nextafter(start, 1)
        yield round((Fraction(start) + Fraction(above)) / 2 * 10**18)
        start = math.nextafter(start + 0.0023, 1)


@pytest.mark.parametrize(
    "content",
    [
        "1\n",
        "1,2,3\n",
        "\n1,2\n",
        '1,"2\n',
        '1,"2"3\n',
        '1,2"3\n',
        '1,"2"3"\n',
        "1,\0\n",
        "1\r,2\n",
        "1,2",
        '"1"" ",2"\n',
    ],
)
def test_what_is_unusual_is_left_to_the_reader_that_can_tell_it(content):
    assert cut(content.encode(), ",", 2, 1) is None


def test_rows_that_are_not_complete_are_left_for_the_next_time():
    found = cut(b'1,2\n3,"4\n', ",", 2, 7)
    assert found.texts([0, 1]) == [["1"], ["2"]]
    assert len(found.data) == 4
    assert found.where(0) == "line 7"


def test_values_of_some_columns_come_without_spaces_and_quotes():
    found = cut('a, "b,\n""c""", ü  \n  1 ,2 ,\t3\n'.encode(), ",", 3, 1)
    assert found.texts([2, 0, 1]) == [["ü", "3"], ["a", "1"], ['b,\n"c"', "2"]]
    assert [found.where(row) for row in range(2)] == ["line 1", "line 3"]
    assert np.isnan(found.numbers([0], ".")[0][0, 0])
