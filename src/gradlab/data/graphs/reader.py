"""Graphs in CSV files: a row for each node, and in another file a row for each edge."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradlab.data.graphs.links import without
from gradlab.data.graphs.listing import FOLDER, Listing
from gradlab.data.graphs.raw import Indices, Level, Numbers, RawGraphs, both_ways, simple
from gradlab.data.reading import Reading, refuse_columns
from gradlab.data.tables.columns import Column
from gradlab.data.tables.reader import TableReader
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError
from gradlab.wording import counted

NODES, EDGES, PAIRS = "nodes.csv", "edges.csv", "pairs.csv"


@dataclass(frozen=True, kw_only=True)
class GraphReader:
    """Reads graphs as those of the training were read: a folder with nodes.csv and edges.csv, or a file of nodes.

    Of a file of nodes, the edges are in the file that `edges` names, beside it or where training found it. Many graphs
    may each have a folder with those two files. Where edges are asked for, what is read are pairs of nodes of the
    training's graph.
    """

    columns: list[Column] = field(default_factory=list)
    """Features of the nodes."""
    node: str | None = None
    graph: str | None = None
    label: str | None = None
    source: str | None = None
    destination: str | None = None
    nodes: str = ""
    edges: str = EDGES
    level: Level = "node"
    directed: bool = False
    separator: str = "auto"
    encoding: str = "utf-8"

    kind = "graph"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def node_column(self, nodes: Listing) -> str:
        """What names the nodes: by default the first column that has no other use."""
        others = [name for name in nodes.names if name not in (self.graph, self.label)]
        return self.node or (others or nodes.names)[0]

    @property
    def target(self) -> str | None:
        return None if self.level == "edge" else self.label

    def read(self, source: str, beside: Sequence[str] = ()) -> Reading:
        if self.level == "edge":
            return self._read_pairs(source, beside)
        nodes, edges = self.files(source)
        table = NodeTable.read(self, nodes, beside)
        raw = table.graphs(self, *self.pairs(edges, table))
        by_graph = self.level == "graph"
        chosen = table.first_of_each if by_graph else np.arange(len(raw.nodes))
        queried = None if by_graph else chosen[:, None]
        names = table.graph_names if by_graph else raw.node_names
        texts = {name: [table.texts[name][i] for i in chosen] for name in beside}
        places = [table.where(int(i)) for i in chosen]
        return Reading(_examples(raw, queried, len(chosen)), names, texts, places, raw.notes, self.level)

    def _read_pairs(self, source: str, beside: Sequence[str]) -> Reading:
        """Pairs of nodes, between which an edge may be; one that is known carries no message, as in training."""
        if not self.nodes:
            raise GradlabError(
                "This run says where edges of a generated graph are, whose nodes have no names to ask for."
            )
        folder = Path(source)
        asked_for = folder / PAIRS if folder.is_dir() else folder
        place = source if folder.is_dir() else self.nodes
        if not asked_for.is_file():
            raise GradlabError(
                f"{asked_for} is not a file. This run says where edges are: give a CSV file whose first two columns "
                f"name nodes, or a folder with {NODES}, {EDGES} and {PAIRS}."
            )
        refuse_columns(source, beside)
        nodes, edges = self.files(place)
        table = NodeTable.read(self, nodes)
        known, notes = self.pairs(edges, table)
        listing = Listing.of_file(asked_for, self.separator, self.encoding)
        listing.check_rows()
        queried = self.ends(listing, table)[0]
        raw = table.graphs(self, without(known, queried), notes)
        names = ["-".join(table.names[i] for i in pair) for pair in queried.T]
        places = [listing.place(row) for row in range(len(listing))]
        return Reading(_examples(raw, queried.T, len(names)), names, {}, places, raw.notes, "pair")

    def files(self, source: str) -> tuple[Listing, Listing]:
        """Nodes and edges."""
        path = Path(source)
        if self.graph and (within := folders_of_graphs(path)):
            return self._folders(path, within, NODES), self._folders(path, within, EDGES)
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
        return self.listing(nodes), self.listing(edges)

    def listing(self, path: Path) -> Listing:
        """The rows of a file."""
        return Listing.of_file(path, self.separator, self.encoding)

    def _folders(self, path: Path, within: Sequence[Path], name: str) -> Listing:
        files = [one / name for one in within]
        for file in files:
            if not file.is_file():
                raise GradlabError(
                    f"{file} is not a file. Each graph has {NODES} and {EDGES}; one without edges has the line of "
                    "column names alone."
                )
        return Listing.of_folders(path, files, self.graph or FOLDER, self.separator, self.encoding)

    def ends(self, listing: Listing, table: "NodeTable") -> tuple[Indices, bool]:
        """The two nodes of each row as their numbers, and whether the rows say of which graph they are."""
        graph = [self.graph] if self.graph in listing.names else []
        first = [n for n in listing.names if n not in graph][:2]
        ends = [self.source or (first[0] if first else ""), self.destination or first[-1] if first else ""]
        if len(set(ends)) < 2:
            raise GradlabError(
                f"{listing.path} needs two columns: the node that an edge leads from, and the one it leads to."
            )
        listing.check(ends)
        groups = listing.column(graph[0]) if graph else None
        numbers = [table.numbers(listing, name, way, groups) for name, way in zip(ends, ("from", "to"), strict=True)]
        return np.stack(numbers), bool(graph)

    def pairs(self, listing: Listing, table: "NodeTable") -> tuple[Indices, list[str]]:
        """Edges as numbers of nodes, each once and none to itself, and what was left out for that."""
        path = listing.path
        if not len(listing):
            self.ends(listing, table)
            raise _no_edges(path)
        listed, by_graph = self.ends(listing, table)
        if self.graph and not by_graph:
            apart = np.flatnonzero(table.membership[listed[0]] != table.membership[listed[1]])
            if len(apart):
                raise GradlabError(f"{listing.place(int(apart[0]))}: the edge leads from one graph to another.")
        once, loops, repeated = simple(listed, self.directed)
        if not once.shape[1]:
            raise _no_edges(path)
        notes = [f"{path}: {counted(loops, 'self loop')} left out: each layer counts a node itself"] * bool(loops)
        what = "more than once" if self.directed else "more than once, or in both directions"
        notes += [f"{path}: {counted(repeated, 'edge')} listed {what}: each counts once"] * bool(repeated)
        return once, [*notes, *table.lonely(once)]


def folders_of_graphs(path: Path) -> list[Path]:
    """The folders within a folder that have nodes, in the order of their names; none where it has nodes itself."""
    if not path.is_dir() or (path / NODES).is_file():
        return []
    return sorted(file.parent for file in path.glob(f"*/{NODES}"))


def _examples(raw: RawGraphs, queried: Indices | None, count: int) -> Any:
    """For each example, the graphs that it is of and its row."""
    asking = replace(raw, queried=queried, targets=np.zeros(count, dtype=np.int64))
    return as_array([(asking, i) for i in range(count)])


def _no_edges(path: Path) -> GradlabError:
    return GradlabError(
        f"{path} has no edge between two nodes. Without edges nodes are rows of a table: gradlab train csv --data "
        "NODES.csv data.target=COLUMN."
    )


@dataclass(frozen=True, kw_only=True)
class NodeTable:
    """A list of nodes, sorted by their graphs."""

    texts: Mapping[str, Sequence[str]]
    values: Numbers
    names: list[str]
    membership: Indices
    """The graph of each node."""
    graph_names: list[str]
    listing: Listing
    order: Indices
    """The row of each node."""

    @classmethod
    def read(cls, reader: GraphReader, listing: Listing, beside: Sequence[str] = ()) -> "NodeTable":
        node = reader.node_column(listing)
        columns = list(dict.fromkeys([node, *filter(None, [reader.graph]), *[c.name for c in reader.columns], *beside]))
        listing.check(columns)
        listing.check_rows()
        texts = {name: listing.column(name) for name in columns}
        groups = np.array(texts[reader.graph] if reader.graph else [""] * len(listing), dtype=str)
        names, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        by_place = np.argsort(first)  # in the order of the file
        graph_names, membership = names[by_place], np.argsort(by_place)[codes]
        order = np.argsort(membership, kind="stable")
        empty = np.zeros((len(listing), 0))
        encode = TableReader(columns=reader.columns).encode
        rows = encode(texts, listing.place) if reader.columns else empty
        table = cls(
            texts={name: [column[i] for i in order] for name, column in texts.items()},
            values=rows[order],
            names=[texts[node][i] for i in order],
            membership=membership[order],
            graph_names=graph_names.tolist(),
            listing=listing,
            order=order,
        )
        table.check_names(node)
        return table

    def where(self, row: int) -> str:
        return self.listing.place(int(self.order[row]))

    def lonely(self, pairs: Indices) -> list[str]:
        """Graphs and nodes without an edge, of which the edges say nothing."""
        alone = np.ones(len(self.names), dtype=bool)
        alone[pairs.ravel()] = False
        if not alone.any():
            return []
        edges = np.bincount(self.membership[pairs[0]], minlength=len(self.graph_names))
        graphs = f", {counted(int((edges == 0).sum()), 'graph')} without any" * bool((edges == 0).any())
        return [f"{counted(int(alone.sum()), 'node')} without an edge{graphs}: of them a model sees features alone"]

    @property
    def first_of_each(self) -> Indices:
        """The first node of each graph."""
        first: Indices = np.unique(self.membership, return_index=True)[1]
        return first

    def check_names(self, column: str) -> None:
        seen: dict[tuple[int, str], int] = {}
        for row, key in enumerate(zip(self.membership.tolist(), self.names, strict=True)):
            if key in seen:
                before = self.listing.where(int(self.order[seen[key]]))
                raise GradlabError(
                    f"{self.where(row)}, column {column!r}: the node {key[1]!r} was in {before} "
                    "already. Each node has one row; name the column that identifies nodes by data.node=COLUMN."
                )
            seen[key] = row

    def numbers(self, listing: Listing, column: str, way: str, groups: Sequence[str] | None) -> Indices:
        """Which node each name in a column of the edges means."""
        names = listing.column(column)
        if groups is None:
            known: dict[Any, int] = {name: i for i, name in enumerate(self.names)}
            if len(known) < len(self.names):
                raise GradlabError(
                    f"{listing.path}: nodes of several graphs have the same name, so its rows must say which graph "
                    "they are of, in a column of the same name as that of the nodes (data.graph)."
                )
            keys: Sequence[Any] = names
        else:
            graphs = [self.graph_names[i] for i in self.membership]
            known = {key: i for i, key in enumerate(zip(graphs, self.names, strict=True))}
            keys = list(zip(groups, names, strict=True))
        numbers = np.array([known.get(key, -1) for key in keys], dtype=np.int64)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            row = int(unknown[0])
            lacks = self.listing.path if groups is None else f"graph {groups[row]!r}"
            what = f"the edge leads {way} a node {names[row]!r}, which {lacks} does not have"
            raise GradlabError(
                f"{listing.place(row)}, column {column!r}: {what if names[row] else 'the name of a node is missing'} "
                f"({counted(len(unknown), 'such edge')}). Add the node, or remove the edge."
            )
        return numbers

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
