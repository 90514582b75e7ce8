"""Whether there is an edge between two nodes, as a question."""

from dataclasses import replace

import numpy as np

from gradlab.data.graphs.raw import Indices, RawGraphs
from gradlab.errors import GradlabError


def as_links(raw: RawGraphs, pairs: Indices, seed: int) -> RawGraphs:
    """The same graph, of which is asked where edges are: each beside a pair of nodes that has none."""
    nodes, generator = len(raw.nodes), np.random.default_rng([seed, 5])
    there = set(zip(*pairs.tolist(), strict=True))
    if nodes * (nodes - 1) // 2 - len(there) < len(there):
        raise GradlabError("More than half of all pairs of nodes have an edge: too few are left without one.")
    absent: set[tuple[int, int]] = set()
    while len(absent) < len(there):
        a, b = sorted(generator.integers(nodes, size=2).tolist())
        if a != b and (a, b) not in there:
            absent.add((a, b))
    queried = np.concatenate([pairs.T, np.array(sorted(absent))])
    return replace(
        raw,
        level="edge",
        queried=queried,
        targets=np.repeat([1, 0], len(there)),
        classes=["no edge", "edge"],
        training=None,
        reader=None if raw.reader is None else replace(raw.reader, level="edge"),
    )


def without(pairs: Indices, queried: Indices) -> Indices:
    """The pairs that are not asked for, in either direction."""
    taken = set(zip(*np.sort(queried, axis=0).tolist(), strict=True))
    kept = [pair not in taken for pair in zip(*pairs.tolist(), strict=True)]
    return pairs[:, np.array(kept, dtype=bool)]
