"""What a step of a graph convolutional network costs, over graphs of ever more edges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlab.errors import GradlabError

EDGES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class GraphStep:
    """One size of graph: milliseconds of a step, the median of several, and those of torch_geometric's GCN."""

    edges: int
    nodes: int
    milliseconds: float
    peer: float | None

    @property
    def per_edge(self) -> float:
        """Nanoseconds."""
        return 1e6 * self.milliseconds / self.edges


def bench_graphs(edges: Sequence[int] = EDGES, rounds: int = 7) -> Iterator[GraphStep]:
    """Forward, backward and an update of Adam on all nodes of block models."""
    if any(count < 100 for count in edges) or rounds < 1:
        raise GradlabError("A graph to be measured has 100 edges or more, and is measured once or more often.")
    from gradlab.bench.graphs.work import measured  # torch is loaded when something is measured

    for count in edges:
        nodes, listed, milliseconds, peer = measured(count, rounds)
        yield GraphStep(edges=listed, nodes=nodes, milliseconds=milliseconds, peer=peer)
