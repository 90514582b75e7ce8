"""Steps over a graph, measured: by gradlab, and by torch_geometric where it is installed."""

import importlib.util
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data.graphs.generated import blocks
from gradlab.models.graphs.network import GraphNetworkSettings, gcn
from gradlab.nn.graphs import Graphs
from gradlab.specs import Graph

_DEGREE, _FEATURES, _CLASSES, _HIDDEN = 10, 32, 4, 32


def measured(edges: int, rounds: int) -> tuple[int, int, float, float | None]:
    """Nodes and edges of a graph, milliseconds of a step, and those of the peer."""
    graphs, targets = _graph(edges)
    ours = gcn(Graph(_FEATURES), _CLASSES, settings=GraphNetworkSettings(hidden=_HIDDEN))
    milliseconds = _measured(ours, partial(ours, graphs), targets, rounds)
    return len(graphs.x), graphs.edges.shape[1] // 2, milliseconds, _peer(graphs, targets, rounds)


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
