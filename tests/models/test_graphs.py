"""Networks over graphs: whole ones that colour refinement cannot tell apart, and nodes of one colour."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from gradlab.models.graphs.network import GraphNetworkSettings, gat, gcn, sage
from gradlab.nn.graphs import Graphs
from gradlab.specs import Graph

MODELS = {"gcn": gcn, "sage": sage, "gat": gat}
# Ten carbon atoms in two rings: of six each, which share an edge, or of five each, which are linked by one.
DECALIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6), (6, 7), (7, 8), (8, 9), (9, 0)]
BICYCLOPENTYL = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 5)]
PATH = [(i, i + 1) for i in range(9)]


def graph(*several: list[tuple[int, int]]) -> Graphs:
    """Graphs of ten nodes each, known by their degrees, as those without columns are."""
    pairs = torch.tensor([(10 * g + a, 10 * g + b) for g, one in enumerate(several) for a, b in one]).T
    edges = torch.cat([pairs, pairs.flip(0)], 1)
    degrees = torch.bincount(edges[1]).double()
    x = torch.stack([torch.ones_like(degrees), degrees.log1p()], 1)
    return Graphs(x, edges[:, edges[1].argsort()], torch.tensor([10] * len(several)))


def colours(graphs: Graphs) -> Tensor:
    """Colour refinement: nodes have one colour as long as their neighbours have the same colours."""
    known = [0] * len(graphs.x)
    for _ in known:
        heard = [sorted(known[a] for a, b in graphs.edges.T.tolist() if b == i) for i in range(len(known))]
        seen: dict[tuple[int, ...], int] = {}
        known = [seen.setdefault((own, *others), len(seen)) for own, others in zip(known, heard, strict=True)]
    return torch.tensor(known)


def network(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    settings = GraphNetworkSettings(layers=4, hidden=8, pool="sum")
    return MODELS[name](Graph(2, level="graph"), 3, settings=settings).double()


@pytest.mark.parametrize("name", MODELS)
def test_graphs_that_colour_refinement_cannot_tell_apart_are_not_told_apart(name):
    graphs = graph(DECALIN, BICYCLOPENTYL, PATH)
    one, other, path = colours(graphs).view(3, 10).sort().values.tolist()
    assert one == other != path
    outputs = network(name)(graphs)
    assert_close(outputs[0], outputs[1], atol=1e-12, rtol=0)
    assert (outputs[0] - outputs[2]).abs().max() > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_nodes_of_one_colour_and_no_others_have_one_output(name):
    graphs = graph(DECALIN, BICYCLOPENTYL, PATH)
    outputs, known = network(name).nodes(graphs), colours(graphs)
    alike = (outputs[:, None] - outputs).abs().amax(2) < 1e-9
    assert torch.equal(alike, known[:, None] == known)
