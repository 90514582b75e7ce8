"""The graph of a loss, as autograd keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

COUNTED = 20_000
"""How far the operations of a graph are counted."""


@dataclass(kw_only=True)
class Node:
    """An operation of a loss's graph."""

    name: str
    """As autograd names it, without `Backward0`: Addmm, NllLoss, LogSoftmax, Relu, AccumulateGrad, …"""
    inputs: list[int]
    """The nodes whose results it took; those come later in the list: node 0 is the loss."""
    shape: tuple[int, ...] = ()
    """Of its result."""
    dim: int | None = None
    """The axis it works along, where it has one."""
    axes: tuple[int, ...] = ()
    """Of what moves axes: which axis of its input each one of its result is."""
    before: tuple[int, ...] = ()
    """Of a view: the shape of its input."""
    other: tuple[int, ...] | None = None
    """Of a product with something that has no graph: the shape of that."""
    parameter: str | None = None
    """AccumulateGrad: the name of the parameter."""
    module: str | None = None
    """The path of the module whose output it is."""


@dataclass(kw_only=True)
class Graph:
    """The graph of a loss, at one look: `nodes[0]` is the loss itself."""

    step: int
    nodes: list[Node]

    def named(self, *names: str) -> Iterator[tuple[int, Node]]:
        return ((i, node) for i, node in enumerate(self.nodes) if node.name in names)

    def above(self, index: int) -> set[int]:
        """All that a node was computed from, with itself."""
        above, waiting = {index}, [index]
        while waiting:
            for i in self.nodes[waiting.pop()].inputs:
                if i not in above:
                    above.add(i)
                    waiting.append(i)
        return above

    def parameters(self) -> set[str]:
        return {node.parameter for node in self.nodes if node.parameter is not None}
