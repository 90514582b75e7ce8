"""Axes that are taken for others: a softmax over one number, and a view where axes should have been moved."""

import math
from collections.abc import Iterator
from itertools import accumulate, combinations
from operator import mul

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.record import Graph, Loss, Node, Record
from gradlab.diagnosis.rules.base import Case, Rule, at
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, is_product, sources

_VIEWED = ("View", "UnsafeView", "_UnsafeView", "ReshapeAlias")


def _spots(record: Record, loss: Loss, node: Node, what: str) -> list[Spot | str]:
    """Where an operation is: its line in the model where that is known, else the loss that it goes into."""
    line = record.probed.lines.get((node.name, node.shape, node.dim))
    spots: list[Spot | str] = [node.module] if node.module else []
    return [*spots, at(what, line) if line else at("loss", loss.site)]


@Rule(
    slug="softmax_of_one",
    title="a softmax is taken over a single number",
    meaning="Of one number it is always exactly 1, whatever the number: nothing before it can be learnt.",
    evidence=(
        "The softmax of a tensor of shape {shape} runs along axis {axis}, which has one element: its result is 1 "
        "everywhere, and its gradient 0."
    ),
    remedy="torch.sigmoid(x)  # for one output; of weights: softmax along the axis of what is weighed",
    topic="activation.softmax",
)
def softmax_of_one(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        for index, node in graph.named("Softmax", "LogSoftmax"):
            if not _of_one(node) or not all(any(map(_of_one, g.nodes)) for g in loss.graphs):
                continue
            # A sequence of one place has one key: unusual, but attention does nothing wrong then.
            sequence = is_product(graph, index)
            yield Case(
                ("note", 0.4) if sequence else ("error", 0.96),
                *_spots(record, loss, node, "softmax"),
                series=loss.values,
                shape=node.shape,
                axis=(node.dim or 0) % len(node.shape),
            )
            return


def _of_one(node: Node) -> bool:
    several = len(node.shape) > 1 and max(node.shape) > 1
    return node.name in ("Softmax", "LogSoftmax") and node.dim is not None and several and node.shape[node.dim] == 1


@Rule(
    slug="view_mixes_axes",
    title="a view stands where axes should be moved",
    meaning="A view keeps the numbers in their order: what it calls one row has pieces of several rows in it.",
    evidence=(
        "A tensor of shape {before} is viewed as {after}: the axes have another order, but its {numbers:,} numbers are "
        "where they were, so that those of different {mixed} are mixed up."
    ),
    remedy="x.permute(…) or x.transpose(1, 2)  # moves axes; view and reshape only split and join neighbours",
)
def view_mixes_axes(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        for index, node in graph.named(*_VIEWED):
            if not mixes(node.before, node.shape):
                continue
            first = node.before[0] == node.shape[0]
            yield Case(
                ("error", 0.93),
                *_spots(record, loss, node, "view"),
                *_made_by(graph, index),
                series=loss.values,
                before=node.before,
                after=node.shape,
                numbers=math.prod(node.shape),
                mixed="places or channels" if first else "examples",
            )
            return


def _made_by(graph: Graph, index: int) -> Iterator[str]:
    """The module whose output is viewed."""
    makers = (node.module for _, node in sources(graph, index, VIEWS | {"Relu", "Tanh", "Gelu", "Add"}))
    yield from (f"of what {module} gives" for module in list(filter(None, makers))[:1])


def mixes(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether a view gives axes another order. To split an axis and to join neighbours is what views are for.

    >>> mixes((32, 16, 24), (32, 24, 16)), mixes((2, 8, 20), (8, 40)), mixes((8, 10, 12), (8, 3, 10, 4))
    (True, True, True)
    >>> mixes((8, 10, 12), (80, 12)), mixes((8, 10, 12), (8, 10, 3, 4)), mixes((8, 10, 12), (8, 5, 24))
    (False, False, False)
    """
    return any(_regrouped(a, b) or _split_in_front(a, b) for a, b in _crossing(before, after))


def _crossing(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
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
            product = 1
            for i in chosen:
                product *= before[i]
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
