r"""How costs grow: $f = O(g)$ if $f(n) \le C g(n)$ for all n from some n₀ on.

What is measured is a count of steps at some sizes; a count says nothing of sizes beyond, so these answers are of the
sizes that were tried.
"""

from collections.abc import Callable, Sequence
from math import log

import numpy as np

from gradlab.errors import GradlabError

ORDERS: dict[str, Callable[[float], float]] = {
    "1": lambda n: 1.0,
    "log n": lambda n: log(n),
    "n": lambda n: n,
    "n log n": lambda n: n * log(n),
    "n²": lambda n: n**2,
}
"""The five orders of the course, from the slowest to the fastest growth."""


def growth_exponent(sizes: Sequence[float], counts: Sequence[float]) -> float:
    r"""The power of the size with which a cost grows: the slope of its logarithm over that of the size.

    $$ \text{count} \approx c \, n^p \quad \Longleftrightarrow \quad \log \text{count} \approx \log c + p \log n $$

    Of a cost with a logarithm it is a little above that without, and nearer to it at larger sizes.

    >>> round(growth_exponent([10, 20, 40], [300, 1200, 4800]), 3)
    2.0
    """
    _check(sizes, counts)
    slope, _ = np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(counts, float)), 1)
    return float(slope)


def growth_order(sizes: Sequence[float], counts: Sequence[float]) -> str:
    """Which of `ORDERS` a cost is nearest to: that with which its quotient varies least.

    >>> growth_order([16, 64, 256, 1024], [4, 6, 8, 10])
    'log n'
    """
    _check(sizes, counts)

    def spread(order: str) -> float:
        quotients = [log(count / ORDERS[order](size)) for size, count in zip(sizes, counts, strict=True)]
        return float(np.std(quotients))

    return min(ORDERS, key=spread)


def bounding_constant(sizes: Sequence[float], counts: Sequence[float], order: str) -> float:
    """The least C with count ≤ C g(n) at all these sizes.

    >>> bounding_constant([2, 4], [7, 12], "n")
    3.5
    """
    _check(sizes, counts)
    if order not in ORDERS:
        raise GradlabError(f"No order {order!r}. There are: {', '.join(ORDERS)}.")
    return max(count / ORDERS[order](size) for size, count in zip(sizes, counts, strict=True))


def _check(sizes: Sequence[float], counts: Sequence[float]) -> None:
    if len(sizes) != len(counts) or len(set(sizes)) < 2:
        raise GradlabError(f"Growth needs counts at two sizes or more: got {len(counts)} counts at {len(sizes)} sizes.")
    if min(sizes) <= 1 or min(counts) <= 0:
        raise GradlabError("Growth needs sizes above 1 and counts above 0, of which there are logarithms.")


# The examples of the course: each does its work on n numbers, and counts its steps.


def array_access(n: int) -> int:
    """O(1): one step, wherever the entry is."""
    _ = list(range(n))[n - 1]
    return 1


def binary_search(n: int) -> int:
    """O(log n): each comparison halves what is left. Looks for the last of n sorted numbers."""
    numbers, low, high, steps = range(n), 0, n - 1, 0
    while low < high:
        middle, steps = (low + high) // 2, steps + 1
        low, high = (middle + 1, high) if numbers[middle] < n - 1 else (low, middle)
    return steps


def linked_list_access(n: int) -> int:
    """O(n): from link to link. Goes to the last of n."""
    following: list[int | None] = [*range(1, n), None]
    place, steps = 0, 1
    while (after := following[place]) is not None:
        place, steps = after, steps + 1
    return steps


def merge_sort(n: int) -> int:
    """O(n log n): log₂ n times, n numbers are merged. Counts the numbers that are moved."""
    numbers, steps = _shuffled(n), 0

    def sort(part: list[int]) -> list[int]:
        nonlocal steps
        if len(part) < 2:
            return part
        left, right, merged = sort(part[: len(part) // 2]), sort(part[len(part) // 2 :]), list[int]()
        while left or right:
            merged.append((left if not right or (left and left[0] < right[0]) else right).pop(0))
            steps += 1
        return merged

    assert sort(numbers) == sorted(numbers)
    return steps


def bubble_sort(n: int) -> int:
    """O(n²): n rounds of swapping neighbours. Counts the comparisons."""
    numbers, steps = _shuffled(n), 0
    for end in range(n - 1, 0, -1):
        for i in range(end):
            steps += 1
            if numbers[i] > numbers[i + 1]:
                numbers[i], numbers[i + 1] = numbers[i + 1], numbers[i]
    assert numbers == sorted(numbers)
    return steps


def _shuffled(n: int) -> list[int]:
    numbers: list[int] = np.random.default_rng(n).permutation(n).tolist()
    return numbers


COUNTED: dict[str, tuple[Callable[[int], int], str]] = {
    "array access": (array_access, "1"),
    "binary search": (binary_search, "log n"),
    "linked list access": (linked_list_access, "n"),
    "merge sort": (merge_sort, "n log n"),
    "bubble sort": (bubble_sort, "n²"),
}
"""Each with the order that it is known to have."""
