"""From graphs to splits: which nodes, edges or graphs are learned from, and what a model sees of each node."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from gradlab.data.dataset import Dataset, Limit, SplitSeed, Test, Validation, split_rows
from gradlab.data.examples import Examples
from gradlab.data.graphs.raw import Indices, Level, RawGraphs, both_ways
from gradlab.data.memory import check_memory
from gradlab.data.preparation import Preparation
from gradlab.data.preprocessing import Method, Preprocessing
from gradlab.data.raw import Raw, Targets, UnsuitableData, Wants
from gradlab.data.splits import hold_out
from gradlab.errors import GradlabError
from gradlab.nn.graphs import Graphs
from gradlab.registry import Count
from gradlab.specs import Graph
from gradlab.wording import counted

_IDENTITY = 2000  # nodes of which each may have a feature of its own: a matrix of nodes times nodes
_MESSAGES = 0.5  # of the training edges; the others are asked for, and so carry none

NodeFeatures = Literal["columns", "identity", "degree"]


class GraphExamples(Examples):
    """One split of nodes, edges or graphs; a batch is one graph, whose parts have no edges between them."""

    together: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class GraphPreparation(Preparation):
    """What a model sees of each node: its columns, prepared as those of a table, or what the edges say of it."""

    kind: ClassVar[str] = "graphs"

    level: Level
    node_features: NodeFeatures
    width: int
    nodes: int
    """Of the training graph, where each node has a feature of its own."""
    columns: Preprocessing | None = None

    @property
    def spec(self) -> Graph:
        return Graph(self.width, level=self.level)

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read_back(
        cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]
    ) -> "GraphPreparation":
        columns = described["columns"]
        known = None if columns is None else Preprocessing.read_back(columns, targets, read)
        return cls(**{**described, "columns": known})

    def features(self, raw: RawGraphs) -> Tensor:
        if self.columns is not None:
            return self.columns(raw.nodes)
        if self.node_features == "degree":
            return torch.from_numpy(np.stack([np.ones(len(raw.nodes)), np.log1p(raw.degrees)], axis=1)).float()
        if len(raw.nodes) != self.nodes:
            raise GradlabError(
                f"This run knows each of its {self.nodes:,} nodes by itself (data.node_features=identity), so it can "
                f"say nothing of a graph of {len(raw.nodes):,} nodes. Train with data.node_features=degree, or with "
                "columns of features."
            )
        return torch.eye(len(raw.nodes))

    def graphs(self, raw: RawGraphs) -> Graphs:
        """All examples of a source."""
        queried = None if raw.queried is None else torch.from_numpy(raw.queried)
        return Graphs(self.features(raw), torch.from_numpy(raw.edges), torch.from_numpy(raw.graph_sizes), queried)

    def __call__(self, raw: Any) -> Graphs:
        """What `GraphReader.read` gives: for each example, the graphs that it is of and its row."""
        examples = [one for one in np.asarray(raw).tolist() if isinstance(one, tuple)]
        if not examples or len(examples) != len(raw):
            raise GradlabError("Graphs are read from files: a folder with nodes.csv and edges.csv, or NODES.csv.")
        return self.graphs(examples[0][0])[[row for _, row in examples]]


def prepare_graphs(
    raw: RawGraphs,
    wants: Wants | None = None,
    *,
    labels: Annotated[
        Count | None, "train on so many examples of each class, all that is left is for test; default by data.test"
    ] = None,
    node_features: Annotated[
        NodeFeatures | Literal["auto"],
        "columns of the nodes, or without them a feature for each node, or its degree; auto: columns where there are "
        "some, else identity of one graph up to 2000 nodes, else degree",
    ] = "auto",
    validation: Validation = 0.15,
    test: Test = None,
    limit: Limit = None,
    preprocess: Annotated[Method, "of columns of the nodes, fitted on the training split"] = "standardise",
    levels: Annotated[Count, "most categories of a column"] = 100,
    seed: SplitSeed = 0,
) -> Dataset:
    """Divide the examples, and prepare the nodes that training sees for all of them."""
    if wants not in (None, "classes", "numbers"):
        raise UnsuitableData("are graphs, of which task=classify or task=regress learns.")
    stub = Raw(inputs=np.zeros((len(raw), 1)), targets=raw.targets, classes=raw.classes).wanted(wants)
    raw = replace(raw, targets=stub.targets, classes=stub.classes)
    train, validated, tested = _split(raw, stub, labels, validation, test, limit, seed)
    size = _size(raw)
    if raw.level == "edge":
        raw, train = _apart(raw, train, seed)
    preparation = _fitted(raw, node_features, preprocess, levels, train)
    graphs = preparation.graphs(raw)
    kind = torch.int64 if raw.classes is not None else torch.float32
    targets = torch.from_numpy(raw.targets).to(kind)
    splits = {
        name: GraphExamples.of(graphs[rows], targets[torch.from_numpy(rows)], rows)
        for name, rows in {"train": train, "validation": validated, "test": tested}.items()
    }
    raw = raw.noted([size, *_notes(raw, preparation, splits)])
    return Dataset(
        **splits,
        raw=raw,
        preprocessing=preparation,
        targets=Targets.of(raw.targets[train], raw.classes),
    )


def _split(
    raw: RawGraphs, stub: Raw, labels: int | None, validation: float, test: float | None, limit: int | None, seed: int
) -> tuple[Indices, Indices, Indices]:
    if labels is None and raw.training is None:
        return split_rows(stub, validation=validation, test=test, folds=None, fold=0, limit=limit, seed=seed)
    if test is not None:
        why = "data.labels says what is trained on" if labels else "this source says what is trained on"
        raise GradlabError(f"data.test cannot be set: {why}, and the rest is for test.")
    if labels is not None and raw.classes is None:
        raise GradlabError("data.labels counts examples of each class, but the targets are numbers. Use data.test.")
    train = raw.training if labels is None else _per_class(raw, labels, seed)
    assert train is not None
    rest = np.setdiff1d(np.arange(len(raw)), train)
    if not len(rest):
        raise GradlabError(f"data.labels={labels} leaves no example to test on. Lower it.")
    tested, validated = hold_out(rest, validation, seed, None if raw.classes is None else raw.targets)
    return train, validated, tested


def _per_class(raw: RawGraphs, labels: int, seed: int) -> Indices:
    generator = np.random.default_rng([seed, 3])
    chosen = [generator.permutation(np.flatnonzero(raw.targets == c))[:labels] for c in range(len(raw.classes or []))]
    return np.sort(np.concatenate(chosen))


def _apart(raw: RawGraphs, train: Indices, seed: int) -> tuple[RawGraphs, Indices]:
    """Edges that are asked for carry no messages: some of the training edges carry them, the others are learned from.

    Held-out edges carry none in any split, since a model would else see the answer.
    """
    assert raw.queried is not None
    generator = np.random.default_rng([seed, 4])
    carry = np.concatenate(
        [
            generator.permutation(rows)[: int(_MESSAGES * len(rows))]
            for rows in (train[raw.targets[train] == 0], train[raw.targets[train] == 1])
        ]
    )  # as many pairs without an edge are left out, so that both are as frequent as in the other splits
    messages = raw.queried[carry[raw.targets[carry] == 1]].T
    if not messages.shape[1]:
        raise GradlabError("There are too few edges to train on: some carry messages, others are learned from.")
    return replace(raw, edges=both_ways(messages, raw.directed)), np.setdiff1d(train, carry)


def _fitted(raw: RawGraphs, wanted: str, method: Method, levels: int, train: Indices) -> GraphPreparation:
    nodes = len(raw.nodes)
    if wanted == "auto":
        alone = len(raw.graph_sizes) == 1 and nodes <= _IDENTITY
        wanted = "columns" if raw.features else "identity" if alone else "degree"
    if wanted == "identity":
        if len(raw.graph_sizes) > 1:
            raise GradlabError("data.node_features=identity is for one graph: nodes of others are other nodes.")
        check_memory(4 * nodes**2, f"A feature for each of {nodes:,} nodes", "Use data.node_features=degree.")
        return GraphPreparation(level=raw.level, node_features="identity", width=nodes, nodes=nodes)
    if wanted == "degree":
        return GraphPreparation(level=raw.level, node_features="degree", width=2, nodes=0)
    if not raw.features:
        raise GradlabError(
            "data.node_features=columns needs columns of features, but the nodes have none. Add columns, or use "
            "data.node_features=identity (one graph) or degree."
        )
    seen = _seen(raw, train)
    columns = Preprocessing.fit(
        raw.nodes, method, raw.features, raw.categorical, rows=seen, levels=None, missing=True, dates=raw.dates
    )
    many = [name for name in raw.categorical if len(np.unique(raw.nodes[:, raw.features.index(name)])) > levels]
    if many:
        raise GradlabError(
            f"The column {many[0]!r} of the nodes has more than data.levels={levels} categories. Leave it out "
            f"(data.drop={many[0]}), or raise data.levels."
        )
    return GraphPreparation(
        level=raw.level, node_features="columns", width=columns.output_shape[0], nodes=0, columns=columns
    )


def _seen(raw: RawGraphs, train: Indices) -> Indices:
    """The nodes of the training examples."""
    if raw.queried is not None:
        return np.unique(raw.queried[train])
    starts = np.concatenate([[0], np.cumsum(raw.graph_sizes)])
    return np.concatenate([np.arange(starts[i], starts[i + 1]) for i in train])


def _size(raw: RawGraphs) -> str:
    size = f"{counted(len(raw.nodes), 'node')}, {counted(raw.num_edges, 'edge')}"
    return f"{len(raw.graph_sizes):,} graphs, {size} in all" if len(raw.graph_sizes) > 1 else f"one graph, {size}"


def _notes(raw: RawGraphs, preparation: GraphPreparation, splits: Mapping[str, Examples]) -> list[str]:
    notes = []
    held = f"{len(splits['train'])} for training, {len(splits['validation'])} validation, {len(splits['test'])} test"
    if raw.level == "graph":
        notes.append(f"split by graph, {held}: no edge leads from one split to another")
    elif raw.level == "edge":
        notes.append(
            f"split by edge, {held}, half of them pairs without one: {counted(raw.num_edges, 'other edge')} carry "
            "messages; those that are asked for carry none, in any split"
        )
    else:
        notes.append(f"split by node, {held}. {_leakage(raw, splits['train'].rows)}")
    if preparation.node_features != "columns":
        what = "a feature for each node" if preparation.node_features == "identity" else "1 and the log of its degree"
        notes.append(f"nodes without columns of features: a model sees {what} (data.node_features)")
    return notes


def _leakage(raw: RawGraphs, train: Indices) -> str:
    """How far training sees held-out nodes: their features and edges, never their labels."""
    assert raw.queried is not None
    inside = np.zeros(len(raw.nodes), dtype=bool)
    inside[raw.queried[train].ravel()] = True
    crossing = int((inside[raw.edges[0]] != inside[raw.edges[1]]).sum()) // (1 if raw.directed else 2)
    return (
        f"{counted(crossing, 'edge')} lead from training nodes to others: training sees features and edges of "
        "held-out nodes, never their labels"
    )


def names_of(raw: RawGraphs, rows: Sequence[int]) -> list[str]:
    """What the user calls some examples."""
    if raw.queried is None:
        return [str(row) for row in rows]
    names = raw.node_names or [str(i) for i in range(len(raw.nodes))]
    return ["-".join(names[node] for node in raw.queried[row]) for row in rows]
