"""What a source of graphs holds, in figures: before anything is split."""

from dataclasses import dataclass

import numpy as np

from gradlab.data.graphs.raw import Level, RawGraphs
from gradlab.data.overview import Feature, feature_list
from gradlab.wording import counted


@dataclass(frozen=True, kw_only=True)
class GraphOverview:
    """Sizes, degrees, classes and features of all graphs of a source."""

    graphs: int
    nodes: int
    edges: int
    directed: bool
    level: Level
    examples: int
    """What is asked for: nodes, pairs of nodes, or graphs."""
    degrees: dict[str, float]
    """Edges that lead to a node: least, mean and most."""
    without_edge: int
    """Nodes."""
    classes: dict[str, int]
    features: list[Feature]
    notes: list[str]

    @classmethod
    def of(cls, raw: RawGraphs) -> "GraphOverview":
        degrees, classes = raw.degrees, raw.classes or []
        counts = np.bincount(raw.targets, minlength=len(classes)).tolist() if classes else []
        categories = {c.name: len(c.values) for c in raw.reader.columns if c.kind == "category"} if raw.reader else {}
        return cls(
            graphs=len(raw.graph_sizes),
            nodes=len(raw.nodes),
            edges=raw.num_edges,
            directed=raw.directed,
            level=raw.level,
            examples=len(raw),
            degrees={"least": int(degrees.min()), "mean": float(degrees.mean()), "most": int(degrees.max())},
            without_edge=int((degrees == 0).sum()),
            classes=dict(zip(classes, counts, strict=True)),
            features=feature_list(raw.nodes, raw.features, categories, raw.dates) if raw.features else [],
            notes=raw.notes,
        )

    @property
    def size(self) -> str:
        graphs = "one graph" if self.graphs == 1 else f"{self.graphs:,} graphs"
        return f"{graphs}, {counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}"

    @property
    def spread(self) -> str:
        """The degrees in words."""
        d = self.degrees
        return f"{d['least']:,} to {d['most']:,} edges lead to a node, {d['mean']:.1f} on average"
