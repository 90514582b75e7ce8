"""What a step of a graph convolutional network costs, over graphs of ever more edges."""

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data.graphs.generated import blocks
from gradlab.errors import GradlabError
from gradlab.models.graphs.network import GraphNetworkSettings, gcn
from gradlab.nn.graphs import Graphs
from gradlab.specs import Graph

EDGES = (1_000, 10_000, 100_000, 1_000_000)
_DEGREE, _FEATURES, _CLASSES, _HIDDEN = 10, 32, 4, 32


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
    for count in edges:
        graphs, targets = _graph(count)
        ours = gcn(Graph(_FEATURES), _CLASSES, settings=GraphNetworkSettings(hidden=_HIDDEN))
        milliseconds = _measured(ours, partial(ours, graphs), targets, rounds)
        yield GraphStep(
            edges=graphs.edges.shape[1] // 2, nodes=len(graphs.x), milliseconds=milliseconds,
            peer=_peer(graphs, targets, rounds),
        )  # fmt: skip


def _graph(edges: int) -> tuple[Graphs, Tensor]:
    nodes = max(2 * _CLASSES, 2 * edges // _DEGREE)
    raw = blocks(0, nodes=nodes, blocks=_CLASSES, inside=0.8 * _DEGREE, outside=0.2 * _DEGREE, features=_FEATURES)
    x = torch.from_numpy(raw.nodes.astype(np.float32))
    return Graphs(
        x, torch.from_numpy(raw.edges), torch.tensor([nodes]), torch.arange(nodes)[:, None]
    ), torch.from_numpy(raw.targets)


def _measured(model: nn.Module, forward: Callable[[], Tensor], targets: Tensor, rounds: int) -> float:
    optimizer, times = torch.optim.Adam(model.parameters()), []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(), targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[2:]))  # the first two warm up


def _peer(graphs: Graphs, targets: Tensor, rounds: int) -> float | None:
    """The same network of torch_geometric's layers, where it is installed."""
    if importlib.util.find_spec("torch_geometric") is None:
        return None
    with warnings.catch_warnings():  # its import uses what torch is about to drop
        warnings.simplefilter("ignore")
        from torch_geometric.nn import GCNConv

    first, second, head = GCNConv(_FEATURES, _HIDDEN), GCNConv(_HIDDEN, _HIDDEN), nn.Linear(_HIDDEN, _CLASSES)

    def forward() -> Tensor:
        h = first(graphs.x, graphs.edges).relu()
        y: Tensor = head(second(h, graphs.edges).relu())
        return y

    return _measured(nn.ModuleList([first, second, head]), forward, targets, rounds)
