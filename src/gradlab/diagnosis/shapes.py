"""Shapes of tensors: examples as rows, and what a view does to the axes, by their sizes."""

import math
from collections.abc import Iterator
from itertools import accumulate, combinations, pairwise
from operator import mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Shape = tuple[int, ...]


def flatten_rows(batch: "Tensor") -> "Tensor":
    """A batch as one row for each example. Of a batch without examples, reshape(0, -1) would be ambiguous."""
    return batch.reshape(len(batch), math.prod(batch.shape[1:]))


def mixes(before: Shape, after: Shape) -> bool:
    """Whether a view gives axes another order. To split an axis and to join neighbours is what views are for.

    >>> mixes((32, 16, 24), (32, 24, 16)), mixes((2, 8, 20), (8, 40)), mixes((8, 10, 12), (8, 3, 10, 4))
    (True, True, True)
    >>> mixes((8, 10, 12), (80, 12)), mixes((8, 10, 12), (8, 10, 3, 4)), mixes((8, 10, 12), (8, 5, 24))
    (False, False, False)
    """
    return any(_regrouped(a, b) or _split_in_front(a, b) for a, b in _crossing(before, after))


def _crossing(before: Shape, after: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Parts of two shapes with as many numbers, in which neither axis is a whole number of the other's neighbours."""
    sides = [[n for n in shape if n > 1] for shape in (before, after)]
    ends = [list(accumulate(side, mul)) for side in sides]
    common = sorted(set(ends[0]) & set(ends[1]))
    starts = [0, 0]
    for end in common:
        stops = [e.index(end) + 1 for e in ends]
        one, other = (side[a:b] for side, a, b in zip(sides, starts, stops, strict=True))
        if len(one) > 1 and len(other) > 1:
            yield one, other
        starts = stops


def _regrouped(before: list[int], after: list[int]) -> bool:
    """Whether each axis of the result is a product of whole axes, every one of them used once."""
    if not after:
        return not before
    for count in range(1, len(before) + 1):
        for chosen in combinations(range(len(before)), count):
            product = math.prod(before[i] for i in chosen)
            rest = [n for i, n in enumerate(before) if i not in chosen]
            if product == after[0] and _regrouped(rest, after[1:]):
                return True
    return False


def _split_in_front(before: list[int], after: list[int]) -> bool:
    """Whether the last axis is split, and its first part stands before the one it comes after: heads before places."""
    if len(before) < 2 or len(after) < 3:
        return False
    places, width = before[-2:]
    heads, then, size = after[-3:]
    return places == then != heads and heads * size == width and before[:-2] == after[:-3]


def in_order(before: Shape, after: Shape) -> bool:
    """Whether a view may as well be one that splits axes and joins what is then next to each other.

    >>> in_order((4, 8, 32), (4, 32, 8)), in_order((4, 16, 24), (4, 24, 16))
    (True, False)
    """
    ends = sorted({*accumulate(before, mul), *accumulate(after, mul)})
    return all(later % earlier == 0 for earlier, later in pairwise(ends))
