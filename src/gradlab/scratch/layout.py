"""Where the nodes of a graph stand in a picture: in layers, with few crossings, and no edge behind a node.

The way of Sugiyama, Tagawa and Toda (1981): the longest way to the result gives a node its layer; an edge over several
layers gets a bend in each, which takes the room of a node; then each layer is ordered by the mean places of its
neighbours, and last moved towards them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

SWEEPS = 8  # there and back


@dataclass(frozen=True)
class Bend:
    """Where a long edge passes a layer."""

    edge: int
    layer: int


Column = list[Any]
"""Nodes and bends of a layer, from top to bottom."""
Links = list[tuple[Any, Any]]
"""From a layer to the next."""


@dataclass(frozen=True)
class Layout:
    """For each node and bend its layer, 0 at the left, and its height, 1 being the room of a node."""

    places: dict[Any, tuple[int, float]]
    edges: list[list[Any]]
    """From a parent over its bends to what is made of it, in the order of the parents."""


def layout(parents: Mapping[Any, Sequence[Any]]) -> Layout:
    """Each node with what it is made of, parents first and the result last.

    >>> diamond = layout({"a": [], "b": ["a"], "c": ["b", "a"]})
    >>> {node: layer for node, (layer, _) in diamond.places.items()}
    {'a': 0, 'b': 1, Bend(edge=2, layer=1): 1, 'c': 2}
    >>> diamond.edges
    [['a', 'b'], ['b', 'c'], ['a', Bend(edge=2, layer=1), 'c']]
    """
    layers = _layers(parents)
    ends = [(parent, node) for node in parents for parent in parents[node]]
    edges = [
        [start, *(Bend(i, layer) for layer in range(layers[start] + 1, layers[end])), end]
        for i, (start, end) in enumerate(ends)
    ]
    columns: list[Column] = [[node for node in parents if layers[node] == i] for i in range(max(layers.values()) + 1)]
    for bend in (bend for edge in edges for bend in edge[1:-1]):
        columns[bend.layer].append(bend)
    links = [link for edge in edges for link in pairwise(edge)]
    columns = _ordered(columns, links)
    heights = _heights(columns, links)
    return Layout({node: (i, heights[node]) for i, column in enumerate(columns) for node in column}, edges)


def _layers(parents: Mapping[Any, Sequence[Any]]) -> dict[Any, int]:
    """By the longest way to the result: whatever a node is made of stands further left, and as near as it can."""
    before = dict.fromkeys(parents, 0)
    for node in reversed(parents):
        for parent in parents[node]:
            before[parent] = max(before[parent], before[node] + 1)
    return {node: max(before.values()) - steps for node, steps in before.items()}


def _ordered(columns: list[Column], links: Links) -> list[Column]:
    """Sorted by the mean places of the neighbours, there and back; of all orders the one with fewest crossings."""
    best = columns
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        towards = {end: [a for a, b in links if b == end] for _, end in links}
        towards = towards if forwards else {start: [b for a, b in links if a == start] for start, _ in links}
        swept: list[Column] = []
        for column in columns if forwards else columns[::-1]:
            place = {node: i for i, node in enumerate(swept[-1])} if swept else {}
            own = {node: i for i, node in enumerate(column)}
            means = {n: np.mean([place[m] for m in towards[n]]) if n in towards and place else own[n] for n in column}
            swept.append(sorted(column, key=means.__getitem__))
        columns = swept if forwards else swept[::-1]
        best = min(best, columns, key=lambda order: _crossings(order, links))
    return best


def _crossings(columns: list[Column], links: Links) -> int:
    """Pairs of links between the same layers whose ends are in another order than their starts."""
    place = {node: (i, j) for i, column in enumerate(columns) for j, node in enumerate(column)}
    ends = [(*place[start], place[end][1]) for start, end in links]
    return sum(i == k and (a - b) * (c - d) < 0 for (i, a, c), (k, b, d) in combinations(ends, 2))


def _heights(columns: list[Column], links: Links) -> dict[Any, float]:
    """Each node as near to the mean height of its neighbours as the others in its layer let it."""
    heights = {node: float(j) for column in columns for j, node in enumerate(column)}
    near = {n: [a for a, b in links if b == n] + [b for a, b in links if a == n] for n in heights}
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 else columns[::-1]:
            wanted = [float(np.mean([heights[m] for m in near[n] or [n]])) for n in column]
            heights |= zip(column, spread(wanted), strict=True)
    top = min(heights.values())
    return {node: height - top for node, height in heights.items()}


def spread(wanted: Sequence[float]) -> list[float]:
    """The places nearest to those wanted, in their order and at least 1 apart: least squares by pooling neighbours.

    >>> spread([0.0, 0.0, 5.0])
    [-0.5, 0.5, 5.0]
    """
    pools: list[tuple[float, int]] = []  # means of what is wanted beyond the own place in the row, and their sizes
    for i, place in enumerate(wanted):
        mean, size = place - i, 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return [float(mean + i) for i, mean in enumerate(mean for mean, size in pools for _ in range(size))]
