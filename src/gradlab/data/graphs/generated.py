"""Graphs without files: Zachary's karate club, and block models."""

from typing import Annotated

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.graphs.links import as_links
from gradlab.data.graphs.preparation import prepare_graphs
from gradlab.data.graphs.raw import Indices, Level, RawGraphs, both_ways
from gradlab.data.graphs.reader import GraphReader
from gradlab.data.memory import check_memory
from gradlab.data.tables.columns import Column
from gradlab.errors import GradlabError
from gradlab.registry import Count, Natural, NonNegative

# Who met whom outside of the club, each pair once: members from 0, with those of higher number that they met.
_MEETINGS = """
    0:1,2,3,4,5,6,7,8,10,11,12,13,17,19,21,31 1:2,3,7,13,17,19,21,30 2:3,7,8,9,13,27,28,32 3:7,12,13 4:6,10 5:6,10,16
    6:16 8:30,32,33 9:33 13:33 14:32,33 15:32,33 18:32,33 19:33 20:32,33 22:32,33 23:25,27,29,32,33 24:25,27,31 25:31
    26:29,33 27:33 28:31,33 29:32,33 30:32,33 31:32,33 32:33
"""
# Who stayed with the instructor (node 0) when the club split; the others went with the president (node 33).
_INSTRUCTOR = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21]


@sources.register("karate", shared=prepare_graphs)
def karate(seed: int) -> RawGraphs:
    """Zachary's karate club: 34 members, 78 friendships, and whom each followed when the club split. Two are labelled.

    Zachary 1977, Journal of Anthropological Research 33(4).
    """
    pairs = [
        (int(a), int(b)) for a, _, others in (w.partition(":") for w in _MEETINGS.split()) for b in others.split(",")
    ]
    return RawGraphs(
        nodes=np.zeros((34, 0)),
        edges=both_ways(np.array(pairs).T),
        targets=np.array([0 if i in _INSTRUCTOR else 1 for i in range(34)]),
        queried=np.arange(34)[:, None],
        classes=["instructor", "president"],
        graph_sizes=np.array([34]),
        training=np.array([0, 33]),
        reader=GraphReader(),
    )


@sources.register("blocks", shared=prepare_graphs)
def blocks(
    seed: int,
    *,
    nodes: Annotated[Count, "in all; of each graph, where there are several"] = 1000,
    blocks: Annotated[Count, "groups of nodes, which are the classes"] = 4,
    inside: Annotated[NonNegative, "edges of a node to its own group, on average"] = 15.0,
    outside: Annotated[NonNegative, "edges of a node to all other groups, on average"] = 3.0,
    features: Annotated[Natural, "numbers of each node, a weak signal of its group; 0 for none"] = 8,
    signal: Annotated[NonNegative, "distance of the groups' means of features, in standard deviations"] = 1.0,
    graphs: Annotated[Count, "with level=graph: how many; half of them have blocks, the others edges at random"] = 200,
    level: Annotated[Level, "what is asked for: the group of a node, whether there is an edge, or of a graph"] = "node",
) -> RawGraphs:
    r"""A stochastic block model: edges are more frequent within groups of nodes than between them.

    With k groups, a nodes of the own group and b of all others on average, groups can be found from the edges alone
    where $(a - b/(k-1))^2 > k (a + b)$ for large graphs (Kesten-Stigum), which the defaults are far above.
    """
    if blocks < 2 or nodes < 2 * blocks:
        raise GradlabError(f"data.blocks={blocks} needs two groups or more, with two nodes each: raise data.nodes.")
    if level == "graph":
        return _many(seed, nodes, blocks, inside, outside, graphs)
    generator = np.random.default_rng(seed)
    groups = np.arange(nodes) % blocks
    pairs = _drawn(generator, groups, blocks, inside, outside)
    means = generator.normal(size=(blocks, features)) * signal / np.sqrt(max(1, 2 * features))
    raw = RawGraphs(
        nodes=means[groups] + generator.normal(size=(nodes, features)),
        edges=both_ways(pairs),
        targets=groups,
        queried=np.arange(nodes)[:, None],
        classes=[f"block {i}" for i in range(blocks)],
        graph_sizes=np.array([nodes]),
        features=[f"x{i}" for i in range(features)],
        reader=GraphReader(columns=[Column(name=f"x{i}", kind="number") for i in range(features)]),
    )
    return raw if level == "node" else as_links(raw, pairs, seed)


def _drawn(generator: np.random.Generator, groups: Indices, blocks: int, inside: float, outside: float) -> Indices:
    """Pairs of nodes, each drawn by itself: as many as the means say, then once each."""
    nodes = len(groups)
    members = [np.flatnonzero(groups == b) for b in range(blocks)]
    counts = generator.poisson(nodes * inside / 2), generator.poisson(nodes * outside / 2)
    check_memory(64 * sum(counts), f"{sum(counts):,} edges", "Make fewer.")
    first = generator.integers(nodes, size=sum(counts))
    own = np.arange(sum(counts)) < counts[0]
    other = (groups[first] + generator.integers(1, blocks, size=len(first))) % blocks
    group = np.where(own, groups[first], other)
    sizes = np.array([len(m) for m in members])
    second = groups_member(members, group, (generator.random(len(first)) * sizes[group]).astype(np.int64))
    pairs = np.stack([np.minimum(first, second), np.maximum(first, second)])
    once: Indices = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    if not once.shape[1]:
        raise GradlabError("This block model has no edge. Raise data.inside or data.outside.")
    return once


def groups_member(members: list[Indices], group: Indices, place: Indices) -> Indices:
    """The node at some place of each group."""
    starts = np.cumsum([0, *(len(m) for m in members[:-1])])
    return np.concatenate(members)[starts[group] + place]


def _many(seed: int, nodes: int, blocks: int, inside: float, outside: float, graphs: int) -> RawGraphs:
    """Graphs with as many edges on average, half of them without blocks: only edges distinguish them."""
    generator, groups = np.random.default_rng(seed), np.arange(nodes) % blocks
    both = inside + outside
    pairs = []
    for i in range(graphs):
        own, others = (inside, outside) if i % 2 else (both / blocks, both * (blocks - 1) / blocks)
        pairs.append(_drawn(generator, groups, blocks, own, others) + i * nodes)
    return RawGraphs(
        nodes=np.zeros((nodes * graphs, 0)),
        edges=both_ways(np.concatenate(pairs, axis=1)),
        level="graph",
        targets=np.arange(graphs) % 2,
        classes=["random", "blocks"],
        graph_sizes=np.full(graphs, nodes),
        reader=GraphReader(level="graph"),
    )
