"""Graphs in CSV files: a row for each node, and in another file a row for each edge."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gradlab.data.graphs.raw import Indices, Level, Numbers, RawGraphs, both_ways, simple
from gradlab.data.reading import Reading
from gradlab.data.series.reader import records_with, whole
from gradlab.data.tables.blocks import Block
from gradlab.data.tables.columns import Column
from gradlab.data.tables.reader import TableReader
from gradlab.data.tables.records import Records
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError
from gradlab.wording import counted

NODES, EDGES = "nodes.csv", "edges.csv"


@dataclass(frozen=True, kw_only=True)
class GraphReader:
    """Reads graphs as those of the training were read: a folder with nodes.csv and edges.csv, or a file of nodes.

    Of a file of nodes, the edges are in the file that `edges` names, beside it or where training found it.
    """

    columns: list[Column] = field(default_factory=list)
    """Features of the nodes."""
    node: str | None = None
    graph: str | None = None
    label: str | None = None
    source: str | None = None
    destination: str | None = None
    edges: str = EDGES
    level: Level = "node"
    directed: bool = False
    separator: str = "auto"
    encoding: str = "utf-8"

    kind = "graph"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    @property
    def target(self) -> str | None:
        return None if self.level == "edge" else self.label

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        nodes, edges = self.files(source)
        table = NodeTable.read(self, nodes, beside)
        raw = table.graphs(self, *self.pairs(edges, table))
        count = len(raw.graph_sizes) if self.level == "graph" else len(raw.nodes)
        if self.level == "edge":
            raise GradlabError("This run says where edges are: its test figures are in the report, no file is read.")
        chosen = table.first_of_each if self.level == "graph" else np.arange(len(raw.nodes))
        asked = None if self.level == "graph" else np.arange(count)[:, None]
        asking = RawGraphs(**{**vars(raw), "asked": asked, "targets": np.zeros(count, dtype=np.int64)})
        names = table.graph_names if self.level == "graph" else raw.node_names
        texts = {name: [table.texts[name][i] for i in chosen] for name in beside}
        places = [table.where(int(i)) for i in chosen]
        return Reading(as_array([(asking, i) for i in range(count)]), names, texts, places, raw.notes)

    def files(self, source: str) -> tuple[Path, Path]:
        path = Path(source)
        if path.is_dir():
            nodes, edges = path / NODES, path / EDGES
        else:
            nodes, edges = path, path.with_name(Path(self.edges).name)
            edges = edges if edges.is_file() else Path(self.edges)
        for file, what in ((nodes, "nodes"), (edges, "edges")):
            if not file.is_file():
                raise GradlabError(
                    f"{file} is not a file. Give a folder with {NODES} and {EDGES}, or a file of nodes with the "
                    f"file of edges beside it: the {what} are missing."
                )
        return nodes, edges

    def pairs(self, path: Path, table: "NodeTable") -> tuple[Indices, list[str]]:
        """Edges as numbers of nodes, each once and none to itself, and what was left out for that."""
        records = Records(path, self.separator, self.encoding)
        graph = [self.graph] if self.graph in records.names else []
        ends = [n for n in records.names if n not in graph][:2]
        ends = [self.source or (ends[0] if ends else ""), self.destination or ends[-1] if ends else ""]
        if len(set(ends)) < 2:
            raise GradlabError(f"{path} needs two columns: the node that an edge leads from, and the one it leads to.")
        names = [*ends, *graph]
        records_with(str(path), names, self.separator, self.encoding)
        if not any(len(block) for block in Records(path, self.separator, self.encoding)):
            raise _no_edges(path)
        block = whole(records, names)
        groups = block.columns[2] if graph else None
        found = np.stack([table.numbers(block.columns[i], groups, block, path, ends[i]) for i in (0, 1)])
        if self.graph and not groups:
            apart = np.flatnonzero(table.membership[found[0]] != table.membership[found[1]])
            if len(apart):
                raise GradlabError(f"{path}, {block.where(int(apart[0]))}: the edge leads from one graph to another.")
        once, loops, repeated = simple(found, self.directed)
        if not once.shape[1]:
            raise _no_edges(path)
        notes = [f"{path}: {counted(loops, 'self loop')} left out: each layer counts a node itself"] * bool(loops)
        what = "more than once" if self.directed else "more than once, or in both directions"
        notes += [f"{path}: {counted(repeated, 'edge')} listed {what}: each counts once"] * bool(repeated)
        return once, notes


def _no_edges(path: Path) -> GradlabError:
    return GradlabError(
        f"{path} has no edge between two nodes. Without edges nodes are rows of a table: gradlab train table --data "
        "NODES.csv data.target=COLUMN."
    )


@dataclass(frozen=True, kw_only=True)
class NodeTable:
    """A file of nodes, sorted by their graphs."""

    texts: Mapping[str, Sequence[str]]
    values: Numbers
    names: list[str]
    membership: Indices
    """The graph of each node."""
    graph_names: list[str]
    lines: Sequence[int]
    path: Path

    @classmethod
    def read(cls, reader: GraphReader, path: Path, beside: Sequence[str] = ()) -> "NodeTable":
        records = Records(path, reader.separator, reader.encoding)
        node = reader.node or records.names[0]
        columns = list(dict.fromkeys([node, *filter(None, [reader.graph]), *[c.name for c in reader.columns], *beside]))
        block = whole(records_with(str(path), columns, reader.separator, reader.encoding), columns)
        texts = dict(zip(columns, block.columns, strict=True))
        groups = np.array(texts[reader.graph] if reader.graph else [""] * len(block), dtype=str)
        names, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        by_place = np.argsort(first)  # in the order of the file
        graph_names, membership = names[by_place], np.argsort(by_place)[codes]
        order = np.argsort(membership, kind="stable")
        empty = np.zeros((len(block), 0))
        encode = TableReader(columns=reader.columns).encode
        rows = encode(texts, lambda i: f"{path}, {block.where(i)}") if reader.columns else empty
        table = cls(
            texts={name: [column[i] for i in order] for name, column in texts.items()},
            values=rows[order],
            names=[texts[node][i] for i in order],
            membership=membership[order],
            graph_names=graph_names.tolist(),
            lines=[block.lines[i] for i in order],
            path=path,
        )
        table.check_names(node)
        return table

    def where(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    @property
    def first_of_each(self) -> Indices:
        """The first node of each graph."""
        first: Indices = np.unique(self.membership, return_index=True)[1]
        return first

    def check_names(self, column: str) -> None:
        seen: dict[tuple[int, str], int] = {}
        for row, key in enumerate(zip(self.membership.tolist(), self.names, strict=True)):
            if key in seen:
                raise GradlabError(
                    f"{self.where(row)}, column {column!r}: the node {key[1]!r} was in line {self.lines[seen[key]]} "
                    "already. Each node has one row; name the column that tells nodes apart by data.node=COLUMN."
                )
            seen[key] = row

    def numbers(
        self, names: Sequence[str], groups: Sequence[str] | None, block: Block, path: Path, column: str
    ) -> Indices:
        """Which node each name of an edge means."""
        if groups is None:
            known: dict[Any, int] = {name: i for i, name in enumerate(self.names)}
            if len(known) < len(self.names):
                raise GradlabError(
                    f"{path}: nodes of several graphs have the same name, so its rows must say which graph they are "
                    "of, in a column of the same name as that of the nodes (data.graph)."
                )
            keys: Sequence[Any] = names
        else:
            graphs = [self.graph_names[i] for i in self.membership]
            known = {key: i for i, key in enumerate(zip(graphs, self.names, strict=True))}
            keys = list(zip(groups, names, strict=True))
        found = np.array([known.get(key, -1) for key in keys], dtype=np.int64)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            row = int(unknown[0])
            raise GradlabError(
                f"{path}, {block.where(row)}, column {column!r}: the edge leads to a node {names[row]!r}, which "
                f"{self.path} does not have ({counted(len(unknown), 'row')} in all). Add the node, or remove the edge."
            )
        return found

    def graphs(self, reader: GraphReader, pairs: Indices, notes: list[str]) -> RawGraphs:
        """The graphs, of which nothing is asked yet."""
        return RawGraphs(
            nodes=self.values,
            edges=both_ways(pairs, reader.directed),
            level=reader.level,
            targets=np.zeros(0),
            graph_sizes=np.bincount(self.membership),
            features=[c.name for c in reader.columns],
            categorical=[c.name for c in reader.columns if c.kind == "category"],
            dates=[c.name for c in reader.columns if c.kind == "date"],
            node_names=self.names,
            directed=reader.directed,
            notes=notes,
            reader=reader,
        )
