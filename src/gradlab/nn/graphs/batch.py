"""Graphs as a model reads them: many are one, whose parts have no edges between them."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.nn.graphs.segments import Edges


@dataclass(frozen=True, eq=False)
class Graphs:
    """Nodes and edges, and what is asked of them: one row of outputs for each example.

    An example is a node, a pair of nodes (an edge), or a whole graph. `queried` has the nodes of each example; without
    it the examples are the graphs themselves, of which `graph_sizes` has the nodes. Rows can be chosen as of a tensor:
    of nodes and edges, the graph around them stays whole.
    """

    x: Float[Tensor, "nodes features"]
    edges: Edges
    """Sorted by the node that receives."""
    graph_sizes: Int64[Tensor, " graphs"]
    queried: Int64[Tensor, "examples nodes_each"] | None = None

    def __len__(self) -> int:
        return len(self.graph_sizes if self.queried is None else self.queried)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self), self.x.shape[1]))

    @property
    def device(self) -> torch.device:
        return self.x.device

    @property
    def is_cpu(self) -> bool:
        return self.x.is_cpu

    @property
    def dtype(self) -> torch.dtype:
        return self.x.dtype

    @property
    def nbytes(self) -> int:
        return self.x.nbytes + self.edges.nbytes

    @property
    def least_rows(self) -> int:
        """Examples at a time where nothing is learned: around any nodes and pairs the whole graph is read."""
        return 0 if self.queried is None else len(self)

    @property
    def graph(self) -> Int64[Tensor, " nodes"]:
        """Which graph each node belongs to."""
        return torch.arange(len(self.graph_sizes), device=self.device).repeat_interleave(self.graph_sizes)

    def _tensors(self, change: Any) -> "Graphs":
        names = ("x", "edges", "graph_sizes", *(() if self.queried is None else ("queried",)))
        return replace(self, **{name: change(getattr(self, name)) for name in names})

    def to(self, device: torch.device, non_blocking: bool = False) -> "Graphs":
        return self._tensors(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Graphs":
        return self._tensors(lambda tensor: tensor.pin_memory())

    def __getitem__(self, chosen: Any) -> "Graphs":
        if not isinstance(chosen, slice):
            chosen = torch.as_tensor(chosen, device=self.device)
        if self.queried is not None:
            return replace(self, queried=self.queried[chosen])
        rows = torch.arange(len(self), device=self.device)[chosen]
        return self if len(rows) == len(self) and bool((rows[1:] > rows[:-1]).all()) else self._some(rows)

    def _some(self, rows: Int64[Tensor, " chosen"]) -> "Graphs":
        """Some of the graphs, in this order."""
        starts = self.graph_sizes.cumsum(0) - self.graph_sizes
        nodes = _ranges(starts[rows], self.graph_sizes[rows])
        # Edges are sorted by their nodes, and so by their graphs.
        ends = torch.searchsorted(self.edges[1].contiguous(), torch.stack([starts, starts + self.graph_sizes]))
        counts = (ends[1] - ends[0])[rows]
        edges = self.edges[:, _ranges(ends[0][rows], counts)]
        new_starts = self.graph_sizes[rows].cumsum(0) - self.graph_sizes[rows]
        edges = edges + (new_starts - starts[rows]).repeat_interleave(counts)
        return replace(self, x=self.x[nodes], edges=edges, graph_sizes=self.graph_sizes[rows])

    def index_select(self, axis: int, chosen: Tensor) -> "Graphs":
        assert axis == 0
        return self[chosen]

    def subset(self, chosen: Any) -> "Graphs":
        return self[chosen]

    def tensor_split(self, parts: int) -> list["Graphs"]:
        return [self[rows] for rows in torch.arange(len(self), device=self.device).tensor_split(parts)]


def _ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """start, start + 1, … of each, count numbers long, one after the other."""
    before = counts.cumsum(0) - counts
    return torch.arange(int(counts.sum()), device=starts.device) + (starts - before).repeat_interleave(counts)
