"""One's own graphs: a CSV file of nodes and one of edges."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import changed_guard
from gradlab.data.dataset import sources
from gradlab.data.graphs.links import as_links
from gradlab.data.graphs.listing import FOLDER, Listing
from gradlab.data.graphs.preparation import prepare_graphs
from gradlab.data.graphs.raw import Level, RawGraphs
from gradlab.data.graphs.reader import EDGES, NODES, GraphReader, NodeTable, folders_of_graphs
from gradlab.data.naming import columns_to_name
from gradlab.data.tables.columns import MISSING, Column
from gradlab.data.tables.csv_files import check_classes
from gradlab.errors import GradlabError
from gradlab.wording import counted


@dataclass(frozen=True)
class _Files:
    """Where nodes and edges are; of many graphs with a folder each, the files of all of them."""

    nodes: list[Path]
    edges: list[Path]
    many: bool = False

    @classmethod
    def of(cls, path: str, edges: str | None, graph: str | None) -> "_Files":
        place = Path(path)
        if within := folders_of_graphs(place):
            for knob, value in (("edges", edges), ("graph", graph)):
                if value is not None:
                    raise GradlabError(
                        f"data.{knob} cannot be set: {path} has a folder for each graph, with {NODES} and {EDGES}."
                    )
            return cls([one / NODES for one in within], [one / EDGES for one in within], many=True)
        nodes = place / NODES if place.is_dir() else place
        beside = nodes.with_name(EDGES) if edges is None else Path(edges)
        for file, how in ((nodes, "--data NODES.csv"), (beside, "data.edges=EDGES.csv")):
            if not file.is_file():
                raise GradlabError(
                    f"{file} is not a file. Name it: {how}, or --data FOLDER with {NODES} and {EDGES}, or with a "
                    "folder for each graph that has them."
                )
        return cls([nodes], [beside])

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Refuse what changes while it is read."""
        with ExitStack() as stack:
            for file in filter(Path.is_file, (*self.nodes, *self.edges)):
                stack.enter_context(changed_guard(file))
            yield


@sources.register("graph", shared=prepare_graphs)
def graph(
    seed: int,
    *,
    path: Annotated[
        str,
        "CSV file with a row for each node; or a folder with nodes.csv and edges.csv, or with such a folder for each "
        "graph: --data FILE",
    ],
    edges: Annotated[str | None, "CSV file with a row for each edge; default edges.csv beside the nodes"] = None,
    target: Annotated[str | None, "column of the nodes to predict; the same on all nodes of a graph, of graphs"] = None,
    level: Annotated[
        Level, "what is predicted: a column of each node, where edges are, or a column of graphs"
    ] = "node",
    node: Annotated[str | None, "column that names the nodes; default the first that has no other use"] = None,
    graph: Annotated[str | None, "column that says which graph a row is of, where there are several"] = None,
    source: Annotated[str | None, "column of the node that an edge leads from; default the first"] = None,
    destination: Annotated[str | None, "column of the node that it leads to; default the second"] = None,
    directed: Annotated[bool, "whether edges lead one way only"] = False,
    drop: Annotated[list[str], "columns of the nodes to leave out"] = [],  # noqa: B006
    categories: Annotated[list[str], "columns of the nodes to take as categories, though they hold numbers"] = [],  # noqa: B006
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the text"] = "utf-8",
) -> RawGraphs:
    """Graphs of one's own: nodes and edges in CSV files. Nodes without a target are there, but not learned from."""
    if target is None and level != "edge":
        advice = columns_to_name({"path": path})
        raise GradlabError(
            f"data.target must be given: the column of the nodes to predict. Or data.level=edge. {advice}".rstrip()
        )
    files = _Files.of(path, edges, graph)
    if level == "graph" and graph is None and not files.many:
        raise GradlabError(
            "data.level=graph needs data.graph=COLUMN, the column that says of which graph a node is, or --data FOLDER "
            "with a folder for each graph."
        )
    if level == "edge" and (directed or graph or files.many):
        raise GradlabError("data.level=edge is for one graph whose edges have no direction.")
    reader = GraphReader(
        node=node, graph=FOLDER if files.many else graph, label=target, source=source, destination=destination,
        nodes="" if files.many else str(files.nodes[0].absolute()),
        edges=EDGES if files.many else str(files.edges[0].absolute()),
        level=level, directed=directed, separator=separator, encoding=encoding,
    )  # fmt: skip
    with files.guarded():
        nodes, listed = reader.files(path) if files.many else map(reader.listing, (*files.nodes, *files.edges))
        nodes.check([n for n in (target, graph, node, *drop, *categories) if n is not None])
        unused = {reader.node_column(nodes), reader.graph, target, *drop}
        columns = [_column(nodes, n, n in categories) for n in nodes.names if n not in unused]
        reader = replace(reader, columns=columns)
        table = NodeTable.read(reader, nodes, [target] if target else [])
        pairs, notes = reader.pairs(listed, table)
    raw = table.graphs(reader, pairs, notes)
    if level == "edge":
        return as_links(raw, pairs, seed)
    assert target is not None
    texts = np.array(table.texts[target], dtype=object)
    rows = _by_graph(table, texts, target) if level == "graph" else np.arange(len(texts))
    known = np.array([texts[i] not in MISSING for i in rows])
    if not known.any():
        raise GradlabError(f"{nodes.path}: the target {target!r} is missing in every row.")
    if not known.all() and level == "graph":
        raise GradlabError(f"{table.where(int(rows[~known][0]))}: the target {target!r} is missing. Fill it in.")
    raw = raw.noted(
        [f"{counted(int((~known).sum()), 'node')} without {target!r} carry messages, and are not learned from"]
        * (not known.all())
    )
    targets, classes = _targets(nodes, target, texts[rows[known]].tolist())
    labelled = None if level == "graph" else rows[known][:, None]
    return replace(raw, targets=targets, classes=classes, queried=labelled)


def _column(nodes: Listing, name: str, category: bool) -> Column:
    """What a column of the nodes holds."""
    survey = nodes.survey(name, category)
    kind = "category" if category else survey.kind()
    survey.check(kind, category, str(nodes.path))
    return survey.column(kind, "input")


def _targets(nodes: Listing, name: str, texts: list[str]) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Numbers as they are, unless there are few whole ones; all else is classes."""
    survey = nodes.survey(name)
    if survey.kind() == "number" and not (survey.whole and len(survey.values) <= 20):
        return survey.column("number", "target").encode(texts, lambda i: str(nodes.path)), None
    classes, targets = np.unique(np.array(texts, dtype=str), return_inverse=True)
    check_classes(classes.tolist(), f"{nodes.path}, target {name!r}")
    return targets.astype(np.int64), classes.tolist()


def _by_graph(table: NodeTable, texts: npt.NDArray[Any], target: str) -> npt.NDArray[np.int64]:
    """The first node of each graph, whose target is that of all."""
    first = table.first_of_each
    other = np.flatnonzero(texts != texts[first][table.membership])
    if len(other):
        row = int(other[0])
        raise GradlabError(
            f"{table.where(row)}, column {target!r}: {texts[row]!r}, but other nodes of the graph "
            f"{table.graph_names[table.membership[row]]!r} have {texts[first[table.membership[row]]]!r}. With "
            "data.level=graph all nodes of a graph have the same; data.level=node predicts each node."
        )
    return first
