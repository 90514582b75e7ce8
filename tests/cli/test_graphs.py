"""Graphs through the command line: the karate club, block models, and one's own nodes and edges."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, check_same, contents, kill_after

Rows = list[list[object]]
TRAIN = ["train", "graph", "--data", "nodes.csv", "data.edges=edges.csv", "data.target=group"]
SMALL = ["train.steps=40", "model.hidden=8", "train.evaluate_every=20"]


def write(path: Path, head: list[str], rows: Rows) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def own(nodes: int = 80) -> tuple[Rows, Rows]:
    """Two groups with a few edges between them, and features that say little; the last node has no label."""
    generator = np.random.default_rng(0)
    group = [i % 2 for i in range(nodes)]
    rows: Rows = [
        [f"n{i}", "ab"[g] if i < nodes - 1 else "", f"{generator.normal() + g:.3f}"] for i, g in enumerate(group)
    ]
    pairs = {tuple(sorted(p)) for p in generator.integers(nodes, size=(20 * nodes, 2)).tolist() if p[0] != p[1]}
    kept = [(a, b) for a, b in sorted(pairs) if group[a] == group[b] or (a + b) % 10 == 1]
    return rows, [[f"n{a}", f"n{b}"] for a, b in kept[:: max(1, len(kept) // 300)]]


def put(folder: Path, nodes: Rows, edges: Rows) -> None:
    write(folder / "nodes.csv", ["name", "group", "x"], nodes)
    write(folder / "edges.csv", ["from", "to"], edges)


@pytest.fixture(scope="module")
def folder(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on files of one's own."""
    folder = tmp_path_factory.mktemp("graph")
    put(folder, *own())
    ended = quick(*TRAIN, *SMALL, "--out", "run", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout").write_text(ended.out)
    return folder


def test_the_best_baseline_of_a_graph_may_be_label_propagation(folder: Path) -> None:
    result = json.loads((folder / "run" / "result.json").read_text())
    best, baselines = result["best_baseline"], result["baselines"]["test"]
    assert best["baseline"] == max(baselines, key=lambda name: baselines[name]["accuracy"])
    gain = best["value"] - best["baseline_value"]
    assert best["better"] == (gain > best["standard_error"])
    assert ("verdict" in (folder / "stdout").read_text()) != best["better"]


def test_the_karate_club_from_two_labels(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "karate-gcn", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["accuracy"] >= 0.95
    assert "The graph" in (tmp_path / "run" / "report.html").read_text()


def test_a_block_model_beside_labels_alone_and_features_alone(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "blocks-gcn", "train.steps=60", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["accuracy"] >= 0.95
    baselines = json.loads((tmp_path / "run" / "result.json").read_text())["baselines"]["test"]
    assert baselines["MLP on the features alone"]["accuracy"] < 0.6
    assert baselines["label propagation"]["accuracy"] > 0.9


def test_what_was_read_and_what_training_sees_of_held_out_nodes_is_told(folder: Path) -> None:
    told = (folder / "stdout").read_text()
    assert "one graph, 80 nodes" in told
    assert "1 node without 'group' carry messages" in told
    assert "split by node" in told
    assert "never their labels" in told


def test_a_run_is_evaluated_used_and_reported(quick: ForkServer, folder: Path) -> None:
    evaluated = quick("evaluate", "run", "--json", cwd=folder)
    assert evaluated.code == 0, evaluated.err
    assert evaluated.json["accuracy"] == json.loads((folder / "run" / "result.json").read_text())["test"]["accuracy"]
    predicted = quick("predict", "run", "nodes.csv", "--json", cwd=folder)
    assert predicted.code == 0, predicted.err
    assert len(predicted.json["predictions"]) == 80
    again = quick("predict", "run", folder, "--json", cwd=folder)
    assert again.json["predictions"] == predicted.json["predictions"]
    assert quick("evaluate", "run", "--data", "nodes.csv", "--json", cwd=folder).code == 0
    assert quick("report", "run", cwd=folder).code == 0


def test_graphs_are_looked_at_before_training(quick: ForkServer, tmp_path: Path) -> None:
    club = quick("data", "show", "karate", "--plain", cwd=tmp_path)
    assert "karate: one graph, 34 nodes, 78 edges" in club.out
    assert "1 to 17 edges lead to a node, 4.6 on average" in club.out
    page = (tmp_path / "karate-data.html").read_text()
    assert "The graph" in page
    assert '"text": ["0", "1", "2"' in page  # names beside nodes
    put_folders(tmp_path / "many")
    shown = quick("data", "show", "graph", "--data", "many", *SHAPES[:2], "--json", cwd=tmp_path).json
    assert (shown["graphs"], shown["nodes"], shown["edges"]) == (30, 180, 165)
    assert shown["classes"] == {"ring": 15, "star": 15}


@pytest.mark.parametrize("level", ["edge", "graph"])
def test_edges_and_whole_graphs_are_learned(quick: ForkServer, tmp_path: Path, level: str) -> None:
    train = ["train", "blocks-gcn", f"data.level={level}", "data.labels=none", "data.nodes=60", "data.graphs=40"]
    ended = quick(
        *train, "data.blocks=2", "train.steps=30", "train.batch_size=16", "--out", "run", "--plain", cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    assert f"split by {level}" in ended.out


TWO_SHAPES = "node,shape\n0,ring\n" + "".join(f"{i},star\n" for i in range(1, 6))
SHAPES = ["data.target=shape", "data.level=graph", "train.steps=60", "train.batch_size=8", "model.hidden=16"]


def shapes(graphs: int = 30) -> list[tuple[str, Rows, Rows]]:
    """Rings and stars, the nodes of which have the same names in each."""
    drawn = list[tuple[str, Rows, Rows]]()
    for g in range(graphs):
        star = bool(g % 2)
        edges: Rows = [[0 if star else i - 1, i] for i in range(1, 6)]
        drawn.append((f"g{g:02}", [[i, "star" if star else "ring"] for i in range(6)], edges + [[5, 0]] * (not star)))
    return drawn


def put_table(folder: Path) -> None:
    folder.mkdir()
    drawn = shapes()
    write(folder / "nodes.csv", ["g", "node", "shape"], [[g, *row] for g, nodes, _ in drawn for row in nodes])
    write(folder / "edges.csv", ["g", "from", "to"], [[g, *row] for g, _, edges in drawn for row in edges])


def put_folders(folder: Path) -> None:
    for name, nodes, edges in shapes():
        (folder / name).mkdir(parents=True)
        write(folder / name / "nodes.csv", ["node", "shape"], nodes)
        write(folder / name / "edges.csv", ["from", "to"], edges)


@pytest.mark.parametrize(("put", "more"), [(put_table, ["data.graph=g"]), (put_folders, [])], ids=["table", "folders"])
def test_many_small_graphs_in_a_table_or_a_folder_for_each(
    quick: ForkServer, tmp_path: Path, put: Callable[[Path], None], more: list[str]
) -> None:
    put(tmp_path / "many")
    ended = quick("train", "graph", "--data", "many", *SHAPES, *more, "--out", "run", "--plain", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "30 graphs, 180 nodes, 165 edges in all" in ended.out
    assert "split by graph" in ended.out
    assert quick("evaluate", "run", "--json", cwd=tmp_path).json["accuracy"] == 1.0
    predicted = quick("predict", "run", "many", "--json", cwd=tmp_path).json["predictions"]
    assert [(p["graph"], p["label"]) for p in predicted] == [(f"g{i:02}", ["ring", "star"][i % 2]) for i in range(30)]


def test_graphs_of_a_table_are_asked_for_in_folders_too(quick: ForkServer, tmp_path: Path) -> None:
    put_table(tmp_path / "table")
    put_folders(tmp_path / "folders")
    train = ["train", "graph", "--data", "table", *SHAPES, "data.graph=g", "train.steps=5"]
    assert quick(*train, "--out", "run", cwd=tmp_path).code == 0
    ours, theirs = (quick("predict", "run", place, "--json", cwd=tmp_path) for place in ("table", "folders"))
    assert ours.json["predictions"] == theirs.json["predictions"]


@pytest.mark.parametrize(
    ("file", "text", "changes", "words"),
    [
        ("g03/edges.csv", None, [], ["g03/edges.csv is not a file", "line of column names"]),
        ("g03/nodes.csv", "node,form\n0,ring\n", [], ["g03/nodes.csv has the columns node, form", "the same columns"]),
        (
            "g03/edges.csv",
            "from,to\n0,9\n",
            [],
            ["many, g03/edges.csv, line 2, column 'to'", "which graph 'g03' does not have"],
        ),
        (
            "g03/nodes.csv",
            "node,shape\n" + "".join(f"{i},{'star' if i else 'ring'}\n" for i in range(6)),
            [],
            ["many, g03/nodes.csv, line 3", "data.level=graph"],
        ),
        ("g03/edges.csv", "from,to\n0,1\n", ["data.graph=g"], ["data.graph cannot be set", "a folder for each graph"]),
        ("g03/edges.csv", "from,to\n0,1\n", ["data.level=edge"], ["data.level=edge is for one graph"]),
    ],
)
def test_what_is_wrong_in_a_folder_of_graphs_is_named(
    quick: ForkServer, tmp_path: Path, file: str, text: str | None, changes: list[str], words: list[str]
) -> None:
    put_folders(tmp_path / "many")
    (tmp_path / "many" / file).unlink()
    if text is not None:
        (tmp_path / "many" / file).write_text(text)
    check_refused(quick("train", "graph", "--data", "many", *SHAPES, *changes, "--out", "run", cwd=tmp_path), *words)


def test_graphs_and_nodes_without_edges_are_told(quick: ForkServer, tmp_path: Path) -> None:
    put_folders(tmp_path / "many")
    write(tmp_path / "many" / "g03" / "edges.csv", ["from", "to"], [])
    ended = quick("train", "graph", "--data", "many", *SHAPES, "train.steps=2", "--out", "run", "--plain", cwd=tmp_path)
    assert "6 nodes without an edge, 1 graph without any: of them a model sees features alone" in ended.out


def test_pairs_of_nodes_are_asked_for_an_edge(quick: ForkServer, tmp_path: Path) -> None:
    """One that is in the file of edges is answered as if it were not, as in training."""
    nodes, edges = own()
    put(tmp_path, nodes, edges)
    train = ["train", "graph", "--data", "nodes.csv", "data.level=edge", *SMALL, "--out", "run", "--plain"]
    ended = quick(*train, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert f"one graph, 80 nodes, {len(edges)} edges" in ended.out
    assert "those that are asked for carry none, in any split" in ended.out
    write(tmp_path / "pairs.csv", ["a", "b"], [edges[0], ["n3", "n8"]])
    known = quick("predict", "run", "pairs.csv", "--json", cwd=tmp_path).json["predictions"]
    assert [p["pair"] for p in known] == ["-".join(map(str, edges[0])), "n3-n8"]
    assert set(known[0]["probabilities"]) == {"no edge", "edge"}
    put(tmp_path, nodes, edges[1:])
    assert quick("predict", "run", "pairs.csv", "--json", cwd=tmp_path).json["predictions"] == known
    put(tmp_path, nodes, edges[20:])
    assert quick("predict", "run", tmp_path, "--json", cwd=tmp_path).json["predictions"] != known
    for text, words in {"a,b\nn1,nobody\n": "a node 'nobody'", "a,b\n": "no row below it"}.items():
        (tmp_path / "pairs.csv").write_text(text)
        check_refused(quick("predict", "run", "pairs.csv", cwd=tmp_path), words)
    check_refused(quick("predict", "run", "none.csv", cwd=tmp_path), "first two columns name nodes")


@pytest.mark.parametrize(
    "train",
    [
        [*TRAIN, "model=gcn"],
        [*TRAIN, "model=gat"],
        [*TRAIN, "data.level=edge"],
        ["train", "graph", "--data", "many", "data.target=shape", "data.level=graph"],
    ],
    ids=["gcn", "gat", "edges", "graphs"],
)
def test_a_killed_run_goes_on_as_if_nothing_had_been(quick: ForkServer, tmp_path: Path, train: list[str]) -> None:
    put(tmp_path, *own())
    put_folders(tmp_path / "many")
    train = [*train, "model.hidden=8", "train.steps=40", "train.batch_size=8", "model.dropout=0.3"]
    train += ["train.log_every=3", "train.evaluate_every=10", "train.checkpoint_every=7", "train.accumulate=2"]
    assert quick(*train, "--out", "whole", "--json", cwd=tmp_path).code == 0
    kill_after(tmp_path / "killed", 8, *train, "--out", "killed", cwd=tmp_path)
    assert not (tmp_path / "killed" / "result.json").exists()
    assert quick("resume", "killed", "--json", cwd=tmp_path).code == 0
    check_same(tmp_path / "killed", tmp_path / "whole")


NODES, EDGES = own()
BAD: dict[str, tuple[Rows, Rows, list[str], list[str]]] = {
    "an edge to an unknown node": (NODES, [*EDGES, ["n0", "nobody"]], [], ["'nobody'", "edges.csv, line", "Add"]),
    "an edge from an unknown node": (NODES, [["nobody", "n0"]], [], ["the edge leads from a node 'nobody'"]),
    "an edge without a name": (NODES, [*EDGES, ["n0", ""]], [], ["column 'to': the name of a node is missing"]),
    "one class": ([[n, "a", x] for n, _, x in NODES], EDGES, [], ["'group': there is only one class, 'a'"]),
    "a feature that is no number": ([*NODES, ["z", "a", "much"]], EDGES, [], ["line 82, column 'x': 'much'"]),
    "no edges": (NODES, [], [], ["edges.csv has no edge", "gradlab train csv"]),
    "self loops alone": (NODES, [["n1", "n1"]], [], ["edges.csv has no edge"]),
    "a node twice": ([*NODES, NODES[0]], EDGES, [], ["nodes.csv, line 82", "'n0'", "one row"]),
    "no file of edges": (NODES, EDGES, ["data.edges=none.csv"], ["none.csv is not a file", "data.edges=EDGES.csv"]),
    "another target": (NODES, EDGES, ["data.target=grp"], ["'grp'", "group"]),
    "graphs without their column": (NODES, EDGES, ["data.level=graph"], ["data.graph=COLUMN"]),
    "no columns of features": (NODES, EDGES, ["data.drop=x", "data.node_features=columns"], ["the nodes have none"]),
    "a model of tables": (NODES, EDGES, ["model=mlp"], ["model=mlp takes", "graphs with 1 feature", "gcn"]),
    "too many labels": (NODES, EDGES, ["data.labels=500"], ["data.labels=500 leaves no example"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_what_is_wrong_is_said_in_a_line(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    nodes, edges, changes, words = BAD[fault]
    put(tmp_path, nodes, edges)
    before = contents(tmp_path)
    check_refused(quick(*TRAIN, "train.steps=1", *changes, "--out", "run", cwd=tmp_path), *words)
    assert contents(tmp_path) == before


def test_self_loops_and_repeated_edges_are_left_out_and_told(quick: ForkServer, tmp_path: Path) -> None:
    nodes, edges = own()
    put(tmp_path, nodes, [*edges, ["n1", "n1"], ["n2", "n2"], list(reversed(edges[0]))])
    ended = quick(*TRAIN, *SMALL, "--out", "run", "--plain", cwd=tmp_path)
    assert "2 self loops left out" in ended.out
    assert "1 edge listed more than once, or in both directions: each counts once" in ended.out
    assert f"80 nodes, {len(edges)} edges" in ended.out


def test_nodes_without_features_are_known_by_themselves_or_by_their_degree(quick: ForkServer, tmp_path: Path) -> None:
    put(tmp_path, *own())
    ended = quick(*TRAIN, *SMALL, "data.drop=x", "--out", "own", "--plain", cwd=tmp_path)
    assert "a model sees a feature for each node" in ended.out
    put(tmp_path, *own(40))
    check_refused(quick("predict", "own", "nodes.csv", cwd=tmp_path), "knows each of its 80 nodes by itself")
    ended = quick(*TRAIN, *SMALL, "data.drop=x", "data.node_features=degree", "--out", "by", "--plain", cwd=tmp_path)
    assert "a model sees 1 and the log of its degree" in ended.out


def test_the_cost_of_a_step_is_measured_by_edges(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("bench", "graph", "--edges", "200", "400", "--rounds", "1", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert [one["nodes"] for one in ended.json["results"]] == [40, 80]
