"""Graphs as they are in the world: nodes with features, edges between them, and what is asked."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Level = Literal["node", "edge", "graph"]
Numbers = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RawGraphs:
    """All nodes and edges of a source, one graph after the other, and the examples: nodes, edges or whole graphs."""

    nodes: Numbers
    """Features of each node; none, where there are no columns."""
    edges: Indices
    """(2, edges): who sends and who receives, sorted by who receives; in both directions, unless they are directed."""
    level: Level = "node"
    targets: npt.NDArray[Any]
    """One for each example."""
    queried: Indices | None = None
    """The nodes of each example; None where the examples are the graphs."""
    classes: list[str] | None = None
    graph_sizes: Indices
    training: Indices | None = None
    """The examples to train on, where the source says which."""
    features: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    node_names: list[str] = field(default_factory=list)
    directed: bool = False
    notes: list[str] = field(default_factory=list)
    reader: Any = None

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def num_edges(self) -> int:
        """Each counted once, in whatever directions it leads."""
        return int(self.edges.shape[1]) // (1 if self.directed else 2)

    @property
    def degrees(self) -> Indices:
        """Edges that lead to each node."""
        counts: Indices = np.bincount(self.edges[1], minlength=len(self.nodes))
        return counts

    def noted(self, notes: list[str]) -> "RawGraphs":
        return replace(self, notes=[*self.notes, *notes])

    def fingerprint(self) -> str:
        """SHA-256 over every value."""
        digest = hashlib.sha256(str((self.level, self.classes, self.features, self.directed)).encode())
        for array in (self.nodes, self.edges, self.targets, self.queried, self.graph_sizes, self.training):
            if array is not None:
                digest.update(str((array.dtype, array.shape)).encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def both_ways(pairs: Indices, directed: bool = False) -> Indices:
    """Pairs of nodes as edges, sorted by who receives: of undirected ones, one in each direction."""
    edges = pairs if directed else np.concatenate([pairs, pairs[::-1]], axis=1)
    ordered: Indices = edges[:, np.lexsort((edges[0], edges[1]))]
    return ordered


def simple(pairs: Indices, directed: bool) -> tuple[Indices, int, int]:
    """Each pair once and none of a node with itself; how many self-loops there were, and how many repetitions."""
    loops = pairs[0] == pairs[1]
    kept = pairs[:, ~loops]
    once = np.unique(kept if directed else np.sort(kept, axis=0), axis=1)
    return once, int(loops.sum()), kept.shape[1] - once.shape[1]
