"""The order of a cost by its counts."""

import pytest

from gradlab.errors import GradlabError
from gradlab.maths.growth import COUNTED, ORDERS, bounding_constant, growth_exponent, growth_order

SIZES = [16, 32, 64, 128, 256]


@pytest.mark.parametrize("example", COUNTED)
def test_the_examples_of_the_course_grow_as_they_should(example):
    steps, order = COUNTED[example]
    counts = [steps(n) for n in SIZES]
    assert growth_order(SIZES, counts) == order
    constant = bounding_constant(SIZES, counts, order)
    assert all(count <= constant * ORDERS[order](n) for n, count in zip(SIZES, counts, strict=True))


def test_counts_are_those_of_the_algorithms():
    assert [COUNTED["binary search"][0](n) for n in (1, 2, 8, 1024)] == [0, 1, 3, 10]
    assert COUNTED["bubble sort"][0](10) == 45
    assert COUNTED["merge sort"][0](8) == 24
    assert COUNTED["linked list access"][0](7) == 7


def test_a_smaller_order_needs_a_larger_constant_at_larger_sizes():
    counts = [n**2 for n in SIZES]
    assert bounding_constant(SIZES, counts, "n") == 256
    assert bounding_constant(SIZES, counts, "n²") == 1


def test_the_exponent_is_the_slope():
    assert growth_exponent(SIZES, [5 * n**1.5 for n in SIZES]) == pytest.approx(1.5)
    assert 1 < growth_exponent(SIZES, [COUNTED["merge sort"][0](n) for n in SIZES]) < 1.3


def test_bad_counts():
    with pytest.raises(GradlabError, match="two sizes or more: got 1 counts at 1 sizes"):
        growth_exponent([4], [4])
    with pytest.raises(GradlabError, match="counts above 0"):
        growth_order([4, 8], [0, 1])
    with pytest.raises(GradlabError, match="No order 'n³'"):
        bounding_constant([4, 8], [1, 1], "n³")
