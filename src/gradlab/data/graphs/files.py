"""One's own graphs: a CSV file of nodes and one of edges."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.cache import changed_guard
from gradlab.data.dataset import sources
from gradlab.data.graphs.links import as_links
from gradlab.data.graphs.preparation import prepare_graphs
from gradlab.data.graphs.raw import Level, RawGraphs
from gradlab.data.graphs.reader import EDGES, NODES, GraphReader, NodeTable
from gradlab.data.series.reader import records_with, whole
from gradlab.data.tables.columns import MISSING, Column
from gradlab.data.tables.records import Records
from gradlab.data.tables.survey import Survey
from gradlab.errors import GradlabError
from gradlab.wording import counted


@sources.register("graph", shared=prepare_graphs)
def graph(
    seed: int,
    *,
    path: Annotated[str, "CSV file with a row for each node, or a folder with nodes.csv and edges.csv: --data FILE"],
    edges: Annotated[str | None, "CSV file with a row for each edge; default edges.csv beside the nodes"] = None,
    target: Annotated[str | None, "column of the nodes to predict; the same on all nodes of a graph, of graphs"] = None,
    level: Annotated[
        Level, "what is predicted: a column of each node, where edges are, or a column of graphs"
    ] = "node",
    node: Annotated[str | None, "column that names the nodes; default the first"] = None,
    graph: Annotated[str | None, "column that says which graph a row is of, where there are several"] = None,
    source: Annotated[str | None, "column of the node that an edge leads from; default the first"] = None,
    destination: Annotated[str | None, "column of the node that it leads to; default the second"] = None,
    directed: Annotated[bool, "whether edges lead one way only"] = False,
    drop: Annotated[list[str], "columns of the nodes to leave out"] = [],  # noqa: B006
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the text"] = "utf-8",
) -> RawGraphs:
    """Graphs of one's own: nodes and edges in CSV files. Nodes without a target are there, but not learned from."""
    folder = Path(path).is_dir()
    place = str(Path(path) / EDGES if folder else Path(path).with_name(EDGES)) if edges is None else edges
    nodes = Path(path) / NODES if folder else Path(path)
    for file, how in ((nodes, "--data NODES.csv"), (Path(place), "data.edges=EDGES.csv")):
        if not file.is_file():
            raise GradlabError(f"{file} is not a file. Name it: {how}, or --data FOLDER with nodes.csv and edges.csv.")
    if target is None and level != "edge":
        raise GradlabError("data.target is missing: the column of the nodes to predict. Or data.level=edge.")
    if level == "graph" and graph is None:
        raise GradlabError("data.level=graph needs data.graph=COLUMN, the column that says of which graph a node is.")
    if level == "edge" and (directed or graph):
        raise GradlabError("data.level=edge is for one graph whose edges have no direction.")
    with changed_guard(nodes), changed_guard(Path(place)):
        records = Records(nodes, separator, encoding)
        names = [n for n in (target, graph, node, *drop) if n is not None]
        records_with(str(nodes), names, separator, encoding)
        used = {node or records.names[0], graph, target, *drop}
        reader = GraphReader(
            columns=[_column(nodes, n, separator, encoding) for n in records.names if n not in used],
            node=node, graph=graph, label=target, source=source, destination=destination,
            edges=str(Path(place).absolute()), level=level, directed=directed, separator=separator, encoding=encoding,
        )  # fmt: skip
        table = NodeTable.read(reader, nodes, [target] if target else [])
        pairs, notes = reader.pairs(Path(place), table)
    raw = table.graphs(reader, pairs, notes)
    if level == "edge":
        return as_links(raw, pairs, seed)
    assert target is not None
    texts = np.array(table.texts[target], dtype=object)
    rows = _by_graph(table, texts, target) if level == "graph" else np.arange(len(texts))
    known = np.array([texts[i] not in MISSING for i in rows])
    if not known.any():
        raise GradlabError(f"{nodes}: the target {target!r} is missing in every row.")
    if not known.all() and level == "graph":
        raise GradlabError(f"{table.where(int(rows[~known][0]))}: the target {target!r} is missing. Fill it in.")
    raw = raw.noted(
        [f"{counted(int((~known).sum()), 'node')} without {target!r} carry messages, and are not learned from"]
        * (not known.all())
    )
    targets, classes = _targets(nodes, target, texts[rows[known]].tolist(), separator, encoding)
    asked = None if level == "graph" else rows[known][:, None]
    return replace(raw, targets=targets, classes=classes, asked=asked)


def _column(path: Path, name: str, separator: str, encoding: str) -> Column:
    """What a column of the nodes holds."""
    survey = _survey(path, name, separator, encoding)
    if not survey.present:
        raise GradlabError(f"{path}: column {name!r} has no value in any row. Leave it out: data.drop={name}.")
    return survey.column(survey.kind(), "input")


def _survey(path: Path, name: str, separator: str, encoding: str) -> Survey:
    records = records_with(str(path), [name], separator, encoding)
    block, decimal = whole(records, [name]), "," if records.separator == ";" else "."
    survey = Survey(name, decimal)
    (numbers,), (good,) = block.numbers([0], decimal)
    if good:
        survey.add_numbers(numbers, block, 0)
    else:
        survey.as_text = True
        survey.add_texts(block.columns[0], block, 0)
    return survey


def _targets(
    path: Path, name: str, texts: list[str], separator: str, encoding: str
) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Numbers as they are, unless there are few whole ones; all else is classes."""
    survey = _survey(path, name, separator, encoding)
    if survey.kind() == "number" and not (survey.whole and len(survey.values) <= 20):
        return survey.column("number", "target").encode(texts, lambda i: str(path)), None
    classes, targets = np.unique(np.array(texts, dtype=str), return_inverse=True)
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
